// Published runs that three rows of a cluster are tried on: a unit is the rows that one source has of one cluster. Healthy rows
// alone, and of the playbook's sweep those that anybody would run.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/measured_rows.h"
#include "measured_runs.h"
#include "spec/catalog.h"

namespace foretrain {

struct CalibrationRow {
  Measured measured;
  RowScore score;
};
using CalibrationUnits = std::map<std::pair<std::string, std::string>, std::vector<CalibrationRow>>;

inline constexpr std::size_t kFewestRows = 5;

inline CalibrationUnits published_units() {
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
  CalibrationUnits units;
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

// Each three of up to seven rows; of more so many draws by a generator with a fixed seed.
using Three = std::array<std::size_t, 3>;
inline std::vector<Three> teachers(std::size_t rows, std::size_t draws) {
  constexpr std::size_t kFewRows = 7;
  std::vector<Three> out;
  if (rows <= kFewRows) {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = i + 1; j < rows; ++j)
        for (std::size_t k = j + 1; k < rows; ++k) out.push_back({i, j, k});
    return out;
  }
  std::mt19937 random(1);
  while (out.size() < draws) {
    const Three three = {random() % rows, random() % rows, random() % rows};
    if (three[0] != three[1] && three[0] != three[2] && three[1] != three[2]) out.push_back(three);
  }
  return out;
}

// Errors and coverage of rows that were judged, before and after three others taught.
struct Judged {
  double before = 0, after = 0, covered_before = 0, covered = 0, count = 0;

  void add(const Judged& o) {
    before += o.before, after += o.after, covered_before += o.covered_before, covered += o.covered;
    count += o.count;
  }
  double mean(double Judged::*what) const { return this->*what / count; }
  // What a source may get worse by.
  bool no_worse() const {
    const double was = mean(&Judged::before);
    return mean(&Judged::after) <= was + std::max(0.1 * was, 0.005);
  }
  bool holds() const { return mean(&Judged::covered) >= 0.65 && mean(&Judged::covered) <= 0.95; }
};

using JudgedUnits = std::map<std::pair<std::string, std::string>, Judged>;

inline std::map<std::string, Judged> by_source(const JudgedUnits& units) {
  std::map<std::string, Judged> out;
  for (const auto& [name, unit] : units) out[name.first].add(unit);
  return out;
}
// Each unit counts the same.
inline double mean_of_units(const JudgedUnits& units, double Judged::*what) {
  double sum = 0;
  for (const auto& [name, unit] : units) sum += unit.mean(what);
  return sum / static_cast<double>(units.size());
}

}  // namespace foretrain
