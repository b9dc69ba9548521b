// How the shares of the prior (calibrate/posterior.h) are chosen: without each source in turn, by what they make of all others,
// and judged on the one that was left out. No figure of the prior leans on the source that it is judged by.
//
// The choice: of all pairs on the grid those that break the fewest aims (a source that gets worse by more than a tenth of its
// error and 0.5 points; a source whose intervals hold less than 65 or more than 95 %), of these the least mean of units' errors.
// With more than 0.9 of the variance not the factors' these no longer come back from runs that were made with them (learn_test), so
// that the grid ends there.
//
// Predictions and slopes do not depend on the shares: each row's lessons are made once, about the cluster as it is stated, and
// what is judged is the straight line through them. That is off from whole predictions (calibration_test) by tenths of a point.
#include "calibration_units.h"

#include <fmt/format.h>

#include <cmath>

using namespace foretrain;

namespace {

constexpr std::size_t kDraws = 100;

struct Known {
  std::vector<Lesson> taught;  // by its parts, where it tells them
  Lesson judged;               // of its step
  RowScore score;
};
using KnownUnits = std::map<std::pair<std::string, std::string>, std::vector<Known>>;

KnownUnits known_units() {
  KnownUnits out;
  for (auto& [name, rows] : published_units())
    for (const CalibrationRow& row : rows) {
      Measured step = row.measured;
      step.figures = {{MeasuredPart::kStep, row.score.measured->value}};
      out[name].push_back({lessons_of(row.measured), lessons_of(step).front(), row.score});
    }
  return out;
}

// Measurements of one run are one lesson, unsure by what they lie apart, as learn() has it.
std::vector<Lesson> lessons_of_three(const std::vector<Known>& rows, const Three& three) {
  std::map<std::pair<std::string, MeasuredPart>, std::vector<const Lesson*>> runs;
  for (const std::size_t i : three)
    for (const Lesson& lesson : rows[i].taught) runs[{lesson.run, lesson.part}].push_back(&lesson);
  std::vector<Lesson> out;
  for (const auto& [run, all] : runs) {
    Lesson one = *all.front();
    double low = one.gap, high = one.gap, sum = 0;
    for (const Lesson* lesson : all) {
      low = std::min(low, lesson->gap), high = std::max(high, lesson->gap);
      sum += lesson->gap;
    }
    one.gap = sum / static_cast<double>(all.size());
    one.spread = std::hypot(one.spread, (high - low) / 2);
    out.push_back(std::move(one));
  }
  return out;
}

// A row as the posterior has it.
Judged judged(const Known& row, const Posterior& posterior) {
  const Lesson& l = row.judged;
  double moved = posterior.shift(l.kind) + posterior.own_shift(l.run);
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) moved += l.slope[k] * posterior.factors()[k];
  RowScore after = row.score;
  after.predicted.value *= std::exp(moved);
  const Posterior::Variance variance = posterior.variance({l.slope, l.kind, l.run, l.spread});
  after.predicted.spread =
      std::sqrt(std::max(variance.before, l.spread * l.spread) * variance.left / variance.before);
  return {std::abs(*row.score.error()), std::abs(*after.error()), row.score.covered() ? 1.0 : 0.0,
          after.covered() ? 1.0 : 0.0, 1};
}

JudgedUnits judge_all(const KnownUnits& units, const PriorShares& shares) {
  JudgedUnits out;
  for (const auto& [name, rows] : units)
    for (const Three& three : teachers(rows.size(), kDraws)) {
      const Posterior posterior = Posterior::learned(lessons_of_three(rows, three), shares);
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (std::find(three.begin(), three.end(), i) == three.end())
          out[name].add(judged(rows[i], posterior));
    }
  return out;
}

// Aims that are broken, then the mean error; without one source.
std::pair<int, double> worth(JudgedUnits judged, const std::string& left_out) {
  std::erase_if(judged, [&](const auto& unit) { return unit.first.first == left_out; });
  int broken = 0;
  for (const auto& [name, source] : by_source(judged))
    broken += (source.no_worse() ? 0 : 1) + (source.holds() ? 0 : 1);
  return {broken, mean_of_units(judged, &Judged::after)};
}

}  // namespace

TEST_CASE("shares chosen without a source teach it") {
  const KnownUnits units = known_units();
  std::vector<PriorShares> grid;
  for (const double own : {0.5, 0.65, 0.8, 0.9})
    for (const double alike : {0.3, 0.4, 0.5, 0.6, 0.7, 0.85}) grid.push_back({own, alike});
  std::vector<JudgedUnits> judged;
  for (const PriorShares& shares : grid) judged.push_back(judge_all(units, shares));
  const auto best_without = [&](const std::string& source) {
    std::size_t best = 0;
    for (std::size_t g = 1; g < grid.size(); ++g)
      if (worth(judged[g], source) < worth(judged[best], source)) best = g;
    return best;
  };
  for (std::size_t g = 0; g < grid.size(); ++g) {
    const auto [broken, error] = worth(judged[g], "");
    MESSAGE(fmt::format("own {:.2f}, alike {:.2f}: {} aims broken, {:.2f} %", grid[g].own, grid[g].alike,
                        broken, 100 * error));
  }
  JudgedUnits left_out;
  for (const auto& [source, ignored] : by_source(judged.front())) {
    const std::size_t best = best_without(source);
    for (const auto& [name, unit] : judged[best])
      if (name.first == source) left_out[name] = unit;
    const Judged is = by_source(left_out).at(source);
    MESSAGE(fmt::format("{}: without it own {}, alike {}: {:.1f} -> {:.1f} %{}, covered {:.2f} -> {:.2f}",
                        source, grid[best].own, grid[best].alike, 100 * is.mean(&Judged::before),
                        100 * is.mean(&Judged::after), is.no_worse() ? "" : " (worse)",
                        is.mean(&Judged::covered_before), is.mean(&Judged::covered)));
  }
  const double before = mean_of_units(left_out, &Judged::before),
               after = mean_of_units(left_out, &Judged::after);
  MESSAGE(fmt::format("left out, {} clusters: {:.2f} -> {:.2f} %, {:+.1f} %; covered {:.2f}", left_out.size(),
                      100 * before, 100 * after, 100 * (after / before - 1),
                      mean_of_units(left_out, &Judged::covered)));
  const PriorShares chosen = grid[best_without("")];
  MESSAGE(fmt::format("chosen by all: own {}, alike {}", chosen.own, chosen.alike));
  CHECK(after < 0.68 * before);
  for (const auto& [name, source] : by_source(left_out)) CHECK_MESSAGE(source.no_worse(), name);
  CHECK(chosen.own == PriorShares{}.own);
  CHECK(chosen.alike == PriorShares{}.alike);
}
