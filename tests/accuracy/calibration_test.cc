// What calibration makes of published runs: three rows of a cluster teach, its other rows are judged. A unit is the rows that one
// source has of one cluster; each three of up to seven rows
// teach in turn, of more rows ten draws by a generator with a fixed seed. Healthy rows alone, and of
// the playbook's sweep those that anybody would run.
//
// Shares of the prior are also chosen without each source, by the mean of all other units' errors, and what they make of the
// source that was left out is told: no figure of the prior may lean on the source that it is judged by.
#include "calibrate/measured_rows.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "measured_runs.h"
#include "spec/catalog.h"

using namespace foretrain;

namespace {

constexpr std::size_t kFewestRows = 5, kFewRows = 7;
constexpr int kDraws = 10;

struct Row {
  Measured measured;
  RowScore score;
};
using Units = std::map<std::pair<std::string, std::string>, std::vector<Row>>;  // by source and cluster

Units published_units() {
  std::vector<MeasuredRow> rows = all_rows();
  const std::string folder = std::string(std::getenv("FORETRAIN_MEASURED_RUNS")) + "/../modern-runs";
  const auto modern = read_measured_rows(disk(), folder);
  REQUIRE_MESSAGE(modern.has_value(), (modern ? "" : modern.error().text()));
  std::set<std::string> ids;
  for (const MeasuredRow& row : *modern) ids.insert(row.id);
  std::erase_if(rows, [&](const MeasuredRow& row) {
    return ids.contains(row.id) || (row.source == "hf_ultrascale" && !above_a_tenth_of_peak(row));
  });
  rows.insert(rows.end(), modern->begin(), modern->end());
  const ProfileStore store;
  const Catalog catalog;
  RowScorer scorer(catalog, Against::kMedian, &store);
  Units units;
  for (const MeasuredRow& row : rows) {
    auto score = scorer.score(row);
    REQUIRE(score);
    if (!unfit_to_teach(*score).empty()) continue;
    auto choice = store.costs_for(score->run->cluster, "");
    REQUIRE(choice);
    Measured measured = measured_of(*score, row, choice->costs);
    units[{score->source, score->cluster}].push_back({std::move(measured), *std::move(score)});
  }
  std::erase_if(units, [](const auto& unit) { return unit.second.size() < kFewestRows; });
  return units;
}

struct Judged {
  double before = 0, after = 0, covered_before = 0, covered = 0, count = 0;

  void add(const Judged& o) {
    before += o.before, after += o.after, covered_before += o.covered_before, covered += o.covered;
    count += o.count;
  }
  double mean(double Judged::*what) const { return this->*what / count; }
};

using Three = std::array<std::size_t, 3>;

std::vector<Three> teachers(std::size_t rows) {
  std::vector<Three> out;
  if (rows <= kFewRows) {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = i + 1; j < rows; ++j)
        for (std::size_t k = j + 1; k < rows; ++k) out.push_back({i, j, k});
    return out;
  }
  std::mt19937 random(1);
  while (out.size() < kDraws) {
    const Three three = {random() % rows, random() % rows, random() % rows};
    if (three[0] != three[1] && three[0] != three[2] && three[1] != three[2]) out.push_back(three);
  }
  return out;
}

Judged judge(const std::vector<Row>& rows, const PriorShares& shares) {
  Judged all;
  for (const Three& three : teachers(rows.size())) {
    std::vector<Measured> taught;
    for (const std::size_t i : three) taught.push_back(rows[i].measured);
    const auto learned = learn(taught, shares);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (std::find(three.begin(), three.end(), i) != three.end()) continue;
      const Row& row = rows[i];
      RowScore after = row.score;
      if (learned) calibrate_score(learned->calibration, row.measured.costs, after);
      all.add({std::abs(*row.score.error()), std::abs(*after.error()), row.score.covered() ? 1.0 : 0.0,
               after.covered() ? 1.0 : 0.0, 1});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("three rows of a cluster teach its others") {
  const Units units = published_units();
  std::vector<PriorShares> grid = {{}};
  for (const double own : {0.5, 0.65, 0.8})
    for (const double alike : {0.0, 0.6, 0.8}) grid.push_back({own, alike});
  if (std::getenv("FORETRAIN_CALIBRATION_GRID") == nullptr) grid.resize(1);
  std::vector<std::map<std::pair<std::string, std::string>, Judged>> judged(grid.size());
  for (std::size_t g = 0; g < grid.size(); ++g)
    for (const auto& [name, rows] : units) judged[g][name] = judge(rows, grid[g]);

  double before = 0, after = 0, covered = 0;
  std::map<std::string, Judged> sources;
  for (const auto& [name, unit] : judged[0]) {
    MESSAGE(fmt::format("{} on {}: {} rows, {:.1f} -> {:.1f} %, covered {:.2f} -> {:.2f}", name.first,
                        name.second, units.at(name).size(), 100 * unit.mean(&Judged::before),
                        100 * unit.mean(&Judged::after), unit.mean(&Judged::covered_before),
                        unit.mean(&Judged::covered)));
    const auto n = static_cast<double>(units.size());
    before += unit.mean(&Judged::before) / n, after += unit.mean(&Judged::after) / n;
    covered += unit.mean(&Judged::covered) / n;
    sources[name.first].add(unit);
  }
  MESSAGE(fmt::format("{} clusters: {:.1f} -> {:.1f} % in the mean, {:+.0f} %; covered {:.2f}", units.size(),
                      100 * before, 100 * after, 100 * (after / before - 1), covered));
  WARN(after < before * 2 / 3);  // the aim
  CHECK(after < 0.7 * before);
  CHECK(covered >= 0.65);
  CHECK(covered <= 0.95);
  for (const auto& [name, source] : sources) {
    const double was = source.mean(&Judged::before), is = source.mean(&Judged::after);
    const bool no_worse = is <= was + std::max(0.1 * was, 0.005);
    const std::string text = fmt::format("{}: {:.1f} -> {:.1f} %", name, 100 * was, 100 * is);
    WARN_MESSAGE(no_worse, text);
    // Two judged rows of five say little, and ten draws of three among hundreds are not all of them.
    if (source.count >= 100) CHECK_MESSAGE(is <= was + std::max(0.15 * was, 0.005), text);
  }
  if (grid.size() == 1) return;
  // Chosen without the source, and what that makes of it.
  double left_out_before = 0, left_out_after = 0;
  for (const auto& [left_out, ignored] : sources) {
    std::size_t best = 1;
    double least = HUGE_VAL;
    for (std::size_t g = 1; g < grid.size(); ++g) {
      double sum = 0;
      for (const auto& [name, unit] : judged[g])
        if (name.first != left_out) sum += unit.mean(&Judged::after);
      if (sum < least) least = sum, best = g;
    }
    for (const auto& [name, unit] : judged[best]) {
      if (name.first != left_out) continue;
      left_out_before += unit.mean(&Judged::before), left_out_after += unit.mean(&Judged::after);
      MESSAGE(fmt::format("{} on {}: without it own {}, alike {}: {:.1f} -> {:.1f} %", name.first,
                          name.second, grid[best].own, grid[best].alike, 100 * unit.mean(&Judged::before),
                          100 * unit.mean(&Judged::after)));
    }
  }
  MESSAGE(fmt::format("shares chosen without the source: {:.1f} -> {:.1f} %",
                      100 * left_out_before / static_cast<double>(units.size()),
                      100 * left_out_after / static_cast<double>(units.size())));
}
