#include "validate/baseline.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

using namespace foretrain;
using doctest::Approx;

namespace {

RowScore row(std::string source, double predicted, double fit_probability = 1) {
  RowScore out;
  out.source = std::move(source);
  out.measured = Seconds(1);
  out.predicted.value = predicted;
  out.fit_probability = fit_probability;
  return out;
}

RowScore failed(std::string source, double fit_probability) {
  RowScore out;
  out.source = std::move(source);
  out.fit_probability = fit_probability;
  return out;
}

const SourceDrift& of(const Drift& drift, std::string_view source) {
  for (const SourceDrift& one : drift.sources)
    if (one.source == source) return one;
  FAIL("no such source");
  return drift.sources.front();
}

std::string error_of(const std::string& json) {
  const auto read = read_baseline({"old.json", json});
  return read ? "" : read.error().text();
}

}  // namespace

TEST_CASE("a baseline reads back as it was written, figures that are not there included") {
  std::vector<RowScore> rows = {row("a", 1.1), row("b", 0.8), failed("b", 0.1)};
  rows[0].measured_memory = gib(10);
  rows[0].predicted_memory = gib(11);
  const Baseline now = baseline_of(rows);
  const auto read = read_baseline({"old.json", baseline_json(now)});
  REQUIRE(read);
  REQUIRE(read->sources.size() == 2);
  CHECK(read->sources.at("a").healthy.mape == Approx(0.1));
  CHECK(read->sources.at("a").healthy.memory.mape == Approx(0.1));
  CHECK(std::isnan(read->sources.at("b").healthy.memory.mape));
  CHECK(read->sources.at("b").fits.oom_doubted == 1);
  CHECK(read->by_source.mape == Approx(0.15));
  CHECK(baseline_json(*read) == baseline_json(now));
}

TEST_CASE(
    "figures of runs that are alike: by what was predicted for a row, healthy ones alone, and read back") {
  Run run;
  run.cluster.gpu.name = "g";
  run.stack.name = "s";
  run.model.blocks.push_back({2, {}});
  std::vector<RowScore> rows = {row("a", 1.2), row("a", 1.0), row("b", 5.0), row("b", 0.9)};
  for (RowScore& one : rows) {
    one.run = std::make_shared<const Run>(run);
    run.plan.cp = 2;  // of all but the first
  }
  rows[2].broken = true;
  CHECK(alike_name(*rows[0].run) == "g, s, dense");
  CHECK(alike_names(*rows[1].run, AlikeBy::kFeature) ==
        std::vector<std::string>{"dense", "context-parallel"});
  const Baseline now = baseline_of(rows);
  const auto& alike = now.alike[static_cast<std::size_t>(AlikeBy::kAll)];
  REQUIRE(alike.size() == 2);
  CHECK(alike.at("g, s, dense").mape == Approx(0.2));
  CHECK(alike.at("g, s, dense context-parallel").mape == Approx(0.05));  // of 0 and 0.1
  CHECK(now.alike[static_cast<std::size_t>(AlikeBy::kGpu)].at("g").count == 3);
  CHECK(now.all.count == 3);
  const auto read = read_baseline({"new.json", baseline_json(now)});
  REQUIRE(read);
  CHECK(baseline_json(*read) == baseline_json(now));
}

TEST_CASE("the program holds the figures of published runs") {
  const auto published = published_baseline();
  REQUIRE(published);
  std::size_t rows = 0;
  for (const auto& [name, figures] : published->sources) rows += figures.healthy.count;
  CHECK(published->all.count == rows);
  for (const auto& group : published->alike) CHECK_FALSE(group.empty());
  std::size_t alike = 0;  // each row is in one of these
  for (const auto& [name, figures] : published->alike.front()) alike += figures.count;
  CHECK(alike == rows);
}

TEST_CASE("more than half a point of time, memory or verdicts is worse or better; less is neither") {
  const Baseline before =
      baseline_of({row("worse", 1.10), row("better", 1.10), row("same", 1.10), failed("verdict", 0.1)});
  const Drift drift = drift_of(before, baseline_of({row("worse", 1.106), row("better", 1.09),
                                                    row("same", 1.104), failed("verdict", 0.9)}));
  CHECK(of(drift, "worse").worse());
  CHECK(of(drift, "worse").time.by() == Approx(0.006));
  CHECK(of(drift, "better").better());
  CHECK_FALSE(of(drift, "same").worse());
  CHECK_FALSE(of(drift, "same").better());
  CHECK(of(drift, "same").same_rows());
  CHECK(of(drift, "verdict").worse());
  CHECK(of(drift, "verdict").missed.by() == 1);
  CHECK(drift.mean_of_sources.by() == Approx(0.0));
}

TEST_CASE("a source that is new or gone is neither worse nor better, and other rows are told") {
  const Drift drift = drift_of(baseline_of({row("gone", 1.1), row("more", 1.1)}),
                               baseline_of({row("new", 1.5), row("more", 1.1), row("more", 1.1)}));
  CHECK_FALSE(of(drift, "gone").now);
  CHECK_FALSE(of(drift, "new").before);
  CHECK_FALSE(of(drift, "new").worse());
  CHECK_FALSE(of(drift, "more").same_rows());
}

TEST_CASE("what is no baseline is refused with its place") {
  CHECK(error_of("{}") == "old.json:1:1: error: not the JSON of validate: the key 'summary' is missing");
  CHECK(error_of("[1]").find("expected one with the key 'summary'") != std::string::npos);
  std::string by_cluster = baseline_json(baseline_of({row("a", 1)}));
  by_cluster.replace(by_cluster.find("\"source\""), 8, "\"cluster\"");
  CHECK(error_of(by_cluster).find("found groups by 'cluster', expected by source") != std::string::npos);
  std::string more = baseline_json(baseline_of({row("a", 1)}));
  more.replace(more.find("\"false_doubt\": 0"), 16, "\"false_doubt\": 9");
  CHECK(error_of(more).find("found more verdicts than rows") != std::string::npos);
}
