#include "validate/ranking.h"

#include <doctest/doctest.h>

#include <cmath>

#include "validate/example_table.h"

using namespace foretrain;
using doctest::Approx;

namespace {

RowScore row(std::string sweep, double measured, double predicted) {
  RowScore out;
  out.sweep = std::move(sweep);
  out.measured = Seconds(measured);
  out.predicted.value = predicted;
  return out;
}

RankingSummary ranked(const std::vector<RowScore>& rows) {
  std::vector<const RowScore*> all;
  for (const RowScore& one : rows) all.push_back(&one);
  return summarise_sweeps(sweeps_of(all));
}

}  // namespace

TEST_CASE("equal orders correlate, reversed ones anticorrelate, and ties share their places") {
  CHECK(rank_correlation({{1, 10}, {2, 20}, {3, 40}}) == Approx(1));
  CHECK(rank_correlation({{1, 40}, {2, 20}, {3, 10}}) == Approx(-1));
  CHECK(rank_correlation({{1, 5}, {2, 5}, {3, 5}}) == 0);
  CHECK(places({5, 1, 5, 9}) == std::vector<double>{1.5, 0, 1.5, 3});
}

TEST_CASE("regret is what the plan predicted fastest takes beyond the fastest") {
  CHECK(regret({{2, 1}, {1, 2}}) == Approx(1));
  CHECK(regret({{2, 2}, {1, 1}}) == 0);
}

TEST_CASE("a sweep has five rows that are scored and in a healthy state; others have no say") {
  // One sweep in order, one whose predicted best (measured 1.5) is half slower than the best.
  std::vector<RowScore> rows;
  for (const double t : {1.0, 2.0, 3.0, 4.0, 5.0}) rows.push_back(row("a", t, t));
  for (const double t : {1.0, 1.5, 3.0, 4.0, 5.0}) rows.push_back(row("b", t, t == 1.5 ? 0.5 : t));
  for (const double t : {1.0, 2.0, 3.0, 4.0}) rows.push_back(row("four", t, t));
  RankingSummary summary = ranked(rows);
  CHECK(summary.sweeps == 2);
  CHECK(summary.rows == 10);
  CHECK(summary.within_10 == 0.5);
  CHECK(summary.regret == Approx(0.25));
  CHECK(summary.correlation == Approx((1 + 0.9) / 2));  // two neighbours swapped of five: 1 - 6 * 2 / 120

  rows[5].broken = true;
  rows[0].skipped = "for a reason";
  summary = ranked(rows);
  CHECK(summary.sweeps == 0);
  CHECK(std::isnan(summary.regret));
}

TEST_CASE("rows of another cluster, batch or precision are another sweep; another plan is not") {
  const std::string name = sweep_name(example_row());
  CHECK(sweep_name(example_row({{"tp", "1"}, {"id", "other"}})) == name);
  for (const auto& [column, cell] : Cells{{"cluster", "dgx-a100"},
                                          {"global_batch", "64"},
                                          {"precision", "fp16"},
                                          {"seq", "2048"},
                                          {"source", "theirs"}}) {
    INFO(column);
    CHECK(sweep_name(example_row({{column, cell}})) != name);
  }
  CHECK(sweep_name(example_row({{"seq", ""}})).empty());
}
