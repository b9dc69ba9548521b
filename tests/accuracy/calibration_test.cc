// What calibration makes of published runs: three rows of a cluster teach, its other rows are judged, by the whole path that a
// user's rows take.
#include "calibration_units.h"

#include <fmt/format.h>

#include <cmath>

using namespace foretrain;

namespace {

constexpr std::size_t kDraws = 30;

Judged judge(const std::vector<CalibrationRow>& rows) {
  Judged all;
  for (const Three& three : teachers(rows.size(), kDraws)) {
    std::vector<Measured> taught;
    for (const std::size_t i : three) taught.push_back(rows[i].measured);
    const auto learned = learn(taught);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (std::find(three.begin(), three.end(), i) != three.end()) continue;
      const CalibrationRow& row = rows[i];
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
  const CalibrationUnits units = published_units();
  JudgedUnits judged;
  for (const auto& [name, rows] : units) judged[name] = judge(rows);
  for (const auto& [name, unit] : judged)
    MESSAGE(fmt::format("{} on {}: {} rows, {:.1f} -> {:.1f} %, covered {:.2f} -> {:.2f}", name.first,
                        name.second, units.at(name).size(), 100 * unit.mean(&Judged::before),
                        100 * unit.mean(&Judged::after), unit.mean(&Judged::covered_before),
                        unit.mean(&Judged::covered)));
  const double before = mean_of_units(judged, &Judged::before), after = mean_of_units(judged, &Judged::after);
  const double covered = mean_of_units(judged, &Judged::covered);
  MESSAGE(fmt::format("{} clusters: {:.1f} -> {:.1f} % in the mean, {:+.1f} %; covered {:.2f} -> {:.2f}",
                      units.size(), 100 * before, 100 * after, 100 * (after / before - 1),
                      mean_of_units(judged, &Judged::covered_before), covered));
  WARN(after < before * 2 / 3);  // the aim
  CHECK(after < 0.68 * before);
  CHECK(covered >= 0.65);
  CHECK(covered <= 0.95);
  for (const auto& [name, source] : by_source(judged)) {
    const std::string text =
        fmt::format("{}: {:.1f} -> {:.1f} %, covered {:.2f} -> {:.2f}", name,
                    100 * source.mean(&Judged::before), 100 * source.mean(&Judged::after),
                    source.mean(&Judged::covered_before), source.mean(&Judged::covered));
    CHECK_MESSAGE(source.no_worse(), text);
    WARN_MESSAGE(source.holds(), text);  // the aim
  }
}
