#include "validate/row_score.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "spec/catalog.h"
#include "validate/example_table.h"

using namespace foretrain;

namespace {

RowScore score_of(const Cells& replaced, Against against = Against::kMedian) {
  return RowScorer(Catalog(), against).score(example_row(replaced)).value();
}

bool assumes(const RowScore& score, std::string_view item) {
  return std::find(score.assumed.begin(), score.assumed.end(), item) != score.assumed.end();
}

// The prediction of the example row itself, by the way that `foretrain predict` takes.
Prediction example_prediction() {
  auto outcome = RowRunner(Catalog()).run_of(example_row()).value();
  return predict(std::get<RowRun>(outcome).run);
}

}  // namespace

TEST_CASE("a row's score holds what predict says of its run") {
  const RowScore score = score_of({});
  const Prediction prediction = example_prediction();
  CHECK(score.predicted.value == prediction.typical.value);
  CHECK(score.predicted.spread == prediction.step.spread);
  CHECK(score.params == prediction.params);
  CHECK(score.fit_probability == prediction.fit_probability);
  CHECK(score.measured == Seconds(0.5));
  CHECK(score.error().value() == doctest::Approx((prediction.typical.value - 0.5) / 0.5));
  CHECK(score.memory_error().value() == doctest::Approx(prediction.peak_allocated / gib(12) - 1));
}

TEST_CASE("a row that names neither GPU nor stack is told by what it was predicted as") {
  const RowScore score = score_of({{"gpu", ""}, {"stack", ""}});
  CHECK(score.gpu == "a100-80gb-sxm");
  CHECK(score.stack == "generic");
}

TEST_CASE("predicted memory follows the row's counter") {
  const Prediction prediction = example_prediction();
  CHECK(score_of({{"mem_counter", "allocated"}}).predicted_memory == prediction.peak_allocated);
  CHECK(score_of({{"mem_counter", "reserved"}}).predicted_memory == prediction.peak_reserved);
  CHECK(score_of({{"mem_counter", "nvidia-smi"}}).predicted_memory == prediction.peak);
  CHECK(score_of({{"mem_counter", "unknown"}}).predicted_memory == prediction.peak_reserved);
  CHECK(score_of({{"mem_counter", ""}}).predicted_memory == prediction.peak_reserved);
}

TEST_CASE("forward, backward and optimizer are held against the notes that have them") {
  // Without a pipeline a stage's passes, as often as there are micro-batches, make up a step.
  const std::string notes = "biases=1; fwd_ms=100; opt_ms=5";
  const RowScore score = score_of({{"pp", "1"}, {"tp", "1"}, {"dp", "1"}, {"gpus", "1"}, {"notes", notes}});
  REQUIRE(score.skipped == "");
  REQUIRE(score.parts[0]);
  CHECK_FALSE(score.parts[1]);
  REQUIRE(score.parts[2]);
  CHECK(score.parts[0]->measured == Seconds(0.1));
  CHECK(score.parts[0]->error() == doctest::Approx(score.parts[0]->predicted.value / 0.1 - 1));
  CHECK(score.parts[0]->predicted.value + score.parts[2]->predicted.value < score.predicted.value);
  CHECK_FALSE(score_of({{"notes", "biases=1; fwd_ms=100"}}).parts[0]);  // of two stages
}

TEST_CASE("the fastest step is held against the undisturbed one") {
  const RowScore score = score_of({{"notes", "biases=1; fastest_s=0.4"}}, Against::kFastest);
  CHECK(score.measured == Seconds(0.4));
  CHECK(score.predicted.value == example_prediction().step.value);
  CHECK(score_of({}, Against::kFastest).skipped == "no fastest_s");
  CHECK(score_of({{"notes", "fastest_s=quick"}}, Against::kFastest).skipped ==
        "refused: fastest_s: found 'quick', expected a number above 0");
  // A failed run has no time in either case.
  CHECK(score_of({{"step_s", ""}, {"notes", "failure=oom"}}, Against::kFastest).skipped.empty());
}

TEST_CASE("a failed run is scored on memory alone") {
  const RowScore small = score_of({{"step_s", ""}, {"notes", "failure=oom"}});
  CHECK_FALSE(small.measured);
  CHECK_FALSE(small.error());
  CHECK(small.fit_probability >= 0.8);
  // 4096 samples of 1024 tokens keep far more than 80 GB of activations.
  const RowScore large = score_of(
      {{"step_s", ""}, {"notes", "failure=oom"}, {"micro_batch", "4096"}, {"global_batch", "16384"}});
  CHECK(large.skipped.empty());
  CHECK(large.fit_probability < 0.5);
}

TEST_CASE("an open choice is the cheapest that fits, and widens the interval by a quarter") {
  // The example takes a few GiB of 80: nobody would recompute or shard.
  const RowScore open = score_of({{"recompute", ""}, {"zero", ""}});
  const RowScore stated = score_of({});
  CHECK(assumes(open, "recompute=none"));
  CHECK(open.predicted.value <= score_of({{"zero", "1"}}).predicted.value);
  CHECK(open.predicted.value <= stated.predicted.value);
  const RowScore same = score_of({{"recompute", ""}});
  CHECK(same.predicted.value == stated.predicted.value);
  CHECK(same.predicted.spread == 1.25 * stated.predicted.spread);
}

TEST_CASE(
    "what sp gathers is kept or gathered again: unsaid, where a stack launches both, either is as likely") {
  const auto chance = [](const char* stack, const char* notes, int micro_batch) {
    return score_of({{"stack", stack},
                     {"sp", "1"},
                     {"notes", notes},
                     {"micro_batch", std::to_string(micro_batch)},
                     {"global_batch", std::to_string(16 * micro_batch)}})
        .fit_probability;
  };
  double apart = 0;
  for (int micro_batch = 1; micro_batch <= 1024; micro_batch += 1 + micro_batch / 8) {
    const double again = chance("nanotron", "sp_gather_again=1", micro_batch);
    const double kept = chance("nanotron", "sp_gather_again=0", micro_batch);
    CHECK(kept <= again);
    CHECK(chance("nanotron", "", micro_batch) == doctest::Approx((again + kept) / 2));
    CHECK(chance("megatron", "", micro_batch) == chance("megatron", "sp_gather_again=1", micro_batch));
    apart = std::max(apart, again - kept);
  }
  CHECK(apart > 0.1);
}

TEST_CASE("an open choice is one that the stack launches") {
  const auto levels = [](const Cells& replaced) {
    Cells open = replaced;
    open.emplace_back("zero", "");
    const RowScore score = score_of(open);
    std::vector<int> assumed;
    for (int zero = 0; zero < 4; ++zero)
      if (assumes(score, fmt::format("zero={}", zero))) assumed.push_back(zero);
    REQUIRE(assumed.size() == 1);
    return assumed.front();
  };
  CHECK(levels({{"stack", "megatron"}}) <= 1);
  CHECK(levels({{"stack", "megatron-fsdp"}}) >= 1);
  // With two stages torchtitan has no replicas, and its fully_shard no level 1.
  CHECK(levels({{"stack", "torchtitan"}, {"sp", "1"}}) >= 2);
  // Of what no level would launch, any.
  CHECK(levels({{"stack", "llm-foundry"}}) >= 0);
}

TEST_CASE("where nothing else fits, an open recomputation is full") {
  // Layer inputs are far smaller than what a layer keeps, so of a micro-batch that grows until `none` no
  // longer fits, recomputation brings it back.
  for (int micro_batch = 2; micro_batch <= 8192; micro_batch *= 2) {
    const Cells cells = {{"micro_batch", std::to_string(micro_batch)},
                         {"global_batch", std::to_string(16 * micro_batch)}};
    if (score_of(cells).fit_probability >= 0.8) continue;
    Cells open = cells;
    open.emplace_back("recompute", "");
    CHECK_FALSE(assumes(score_of(open), "recompute=none"));
    return;
  }
  FAIL("even 8192 samples fit");
}

TEST_CASE("a row left out carries its reason and its group, and no figures") {
  const RowScore score = score_of({{"offload", "states"}});
  CHECK(score.skipped == "offload states");
  CHECK(score.source == "ours");
  CHECK_FALSE(score.error());
  CHECK_FALSE(score.memory_error());
}

TEST_CASE("rows that share an evaluator score as they do alone") {
  const auto rows =
      example_rows({{}, {{"hidden", "2048"}, {"ffn", "8192"}, {"head_dim", "128"}}, {}}).value();
  const auto scores = score_rows(rows, Catalog(), Against::kMedian).value();
  REQUIRE(scores.size() == 3);
  CHECK(scores[0].predicted.value == scores[2].predicted.value);
  CHECK(scores[1].predicted.value ==
        RowScorer(Catalog(), Against::kMedian).score(rows[1]).value().predicted.value);
  CHECK(scores[1].predicted.value > scores[0].predicted.value);
}
