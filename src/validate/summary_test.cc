#include "validate/summary.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace foretrain;
using doctest::Approx;

namespace {

RowScore row(double measured, double predicted, double spread = 0.1) {
  RowScore score;
  score.source = "ours";
  score.measured = Seconds(measured);
  score.predicted = {predicted, spread, Origin::kAnalytic};
  score.fit_probability = 1;
  return score;
}

RowScore failure(double fit_probability) {
  RowScore score;
  score.source = "ours";
  score.fit_probability = fit_probability;
  return score;
}

RowScore left_out(std::string reason) {
  RowScore score;
  score.source = "theirs";
  score.skipped = std::move(reason);
  return score;
}

}  // namespace

TEST_CASE("a quantile lies between neighbours in proportion") {
  CHECK(quantile({3, 1, 2}, 0.5) == 2);
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  // Position 0.9 * 4 = 3.6 of {0, 10, 20, 30, 40}: 30 and 0.6 of the way to 40.
  CHECK(quantile({0, 10, 20, 30, 40}, 0.9) == Approx(36));
  CHECK(quantile({7}, 0.9) == 7);
  CHECK(quantile({1, 2}, 1.0) == 2);
  CHECK(std::isnan(quantile({}, 0.5)));
}

TEST_CASE("errors are fractions of the measured time") {
  // +10 %, -20 %, +30 %.
  const Summary summary = summarise(std::vector{row(10, 11), row(10, 8), row(10, 13)});
  CHECK(summary.count == 3);
  CHECK(summary.mape == Approx(0.2));
  CHECK(summary.median_ape == Approx(0.2));
  CHECK(summary.p90_ape == Approx(0.28));  // position 1.8 of {0.1, 0.2, 0.3}
  CHECK(summary.bias == Approx(0.2 / 3));
  CHECK(summary.fits.measured_rows == 3);
  CHECK(summary.fits.false_oom == 0);
}

TEST_CASE("coverage counts the measured times inside the 80 % interval") {
  // A spread of 0.1 makes the interval 10 * exp(-+0.128) = 8.80 to 11.37.
  const Summary summary = summarise(std::vector{row(8.7, 10), row(8.9, 10), row(11.3, 10), row(11.5, 10)});
  CHECK(summary.coverage80 == 0.5);
}

TEST_CASE("parts count rows scored on time that state them") {
  RowScore over, under, failed;
  over.measured = under.measured = Seconds(1);
  over.parts[1] = {Seconds(2), Seconds(2.2)};
  under.parts[1] = {Seconds(2), Seconds(1.4)};
  failed.parts[1] = {Seconds(2), Seconds(9)};
  const Summary summary = summarise(std::vector{over, under, failed});
  CHECK(summary.parts[0].count == 0);
  CHECK(summary.parts[1].count == 2);
  CHECK(summary.parts[1].mape == Approx(0.2));
  CHECK(summary.parts[1].bias == Approx(-0.1));
}

TEST_CASE("memory counts rows scored on time that state their peak") {
  RowScore over = row(1, 1), under = row(1, 1), silent = row(1, 1), skipped = left_out("moe");
  over.measured_memory = gib(10);
  over.predicted_memory = gib(12);
  under.measured_memory = gib(10);
  under.predicted_memory = gib(9);
  skipped.measured_memory = gib(10);
  const Summary summary = summarise(std::vector{over, under, silent, skipped});
  CHECK(summary.memory.count == 2);
  CHECK(summary.memory.mape == Approx(0.15));
  CHECK(summary.memory.bias == Approx(0.05));
}

TEST_CASE("over groups each configuration counts once, however often it was published") {
  // +10 % and +30 % of one configuration, which states its memory once, and -40 % of another.
  std::vector<RowScore> rows = {row(10, 11), row(10, 13), row(10, 6), left_out("moe"), failure(true)};
  rows[0].group = rows[1].group = "often";
  rows[2].group = "once";
  rows[3].group = "never";
  rows[0].measured_memory = gib(10);
  rows[0].predicted_memory = gib(12);
  const GroupSummary groups = summarise(rows).by_group;
  CHECK(groups.count == 2);
  CHECK(groups.mape == Approx((0.2 + 0.4) / 2));
  CHECK(groups.median_ape == Approx(0.3));
  CHECK(groups.p90_ape == Approx(0.38));  // position 0.9 of {0.2, 0.4}
  CHECK(groups.bias == Approx((0.2 - 0.4) / 2));
  CHECK(groups.coverage80 == Approx(0.25));  // half of one group, nothing of the other
  CHECK(groups.memory.count == 1);
  CHECK(groups.memory.mape == Approx(0.2));
}

TEST_CASE("failed runs are told from those that ran") {
  RowScore alarm = row(1, 1), doubt = row(1, 1);
  alarm.fit_probability = 0.49;
  doubt.fit_probability = 0.5;
  const Summary summary =
      summarise(std::vector{failure(0), failure(0.49), failure(0.79), failure(0.8), alarm, doubt, row(1, 1)});
  CHECK(summary.fits.oom_rows == 4);
  CHECK(summary.fits.oom_caught == 2);
  CHECK(summary.fits.oom_doubted == 3);
  CHECK(summary.fits.measured_rows == 3);
  CHECK(summary.fits.false_oom == 1);
  CHECK(summary.fits.false_doubt == 2);
  CHECK(summary.count == 3);
  CHECK(summary.mape == 0);
}

TEST_CASE("rows left out are counted by reason, and in nothing else") {
  const Summary summary =
      summarise(std::vector{left_out("moe"), left_out("zero > 1"), left_out("moe"), row(1, 1)});
  CHECK(summary.skipped == 3);
  CHECK(summary.skipped_reasons == std::map<std::string, std::size_t>{{"moe", 2}, {"zero > 1", 1}});
  CHECK(summary.count == 1);
  CHECK(summary.fits.oom_rows == 0);
}

TEST_CASE("no rows, no figures") {
  const Summary summary = summarise(std::vector<RowScore>{});
  CHECK(summary.count == 0);
  CHECK(std::isnan(summary.mape));
  CHECK(std::isnan(summary.coverage80));
  CHECK(std::isnan(summary.memory.bias));
}

TEST_CASE("groups split the rows by one of their names") {
  RowScore other = row(1, 2);
  other.source = "theirs";
  other.gpu = "h100";
  const std::vector<RowScore> rows = {row(1, 1), other, left_out("moe")};
  const auto by_source = summarise_by(rows, GroupBy::kSource);
  REQUIRE(by_source.size() == 2);
  CHECK(by_source.at("ours").mape == 0);
  CHECK(by_source.at("theirs").mape == 1);
  CHECK(by_source.at("theirs").skipped == 1);
  const auto by_gpu = summarise_by(rows, GroupBy::kGpu);
  CHECK(by_gpu.at("h100").count == 1);
  CHECK(by_gpu.at("").count == 1);
  CHECK(summarise_by(rows, GroupBy::kGroup).at("").count == 2);
}

TEST_CASE("rows of a broken state are counted, and left out of the healthy ones and of the mean of sources") {
  RowScore broken = row(10, 1);
  broken.broken = true;
  RowScore theirs = row(10, 14);
  theirs.source = "theirs";
  std::vector<RowScore> rows = {row(10, 11), row(10, 13), broken, theirs};
  rows[0].group = rows[1].group = "one configuration";  // counts once: 20 %
  rows[2].group = "broken";
  rows[3].group = "other";
  const Summary summary = summarise(rows);
  CHECK(summary.count == 4);
  CHECK(summary.mape == Approx((0.1 + 0.3 + 0.9 + 0.4) / 4));
  CHECK(summary.set_apart == 1);
  CHECK(summary.healthy.count == 3);
  CHECK(summary.healthy.mape == Approx(0.8 / 3));
  CHECK(summary.by_source.count == 2);
  CHECK(summary.by_source.mape == Approx((0.2 + 0.4) / 2));
}
