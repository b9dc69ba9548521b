// Models whose layers are of several kinds.
#include <doctest/doctest.h>

#include "job/run_check.h"
#include "predict/any_run.h"

namespace foretrain {
namespace {

Block narrow_of(const Model& model) {
  Block block = model.blocks.front().block;
  block.feed_forward.ffn /= 4;
  return block;
}

Run run_with(std::vector<BlockRun> blocks, const char* plan, std::int64_t gpus = 8) {
  Run run = run_of("llama-2-7b", "dgx-h100", gpus, "megatron", plan, 64);
  run.model.blocks = std::move(blocks);
  run.model.stated_params = 0;
  REQUIRE(check_run(run));
  return run;
}

Prediction predicted(const Run& run) {
  Evaluator evaluator = evaluator_of(run);
  return evaluator.predict(run.plan, run.global_batch);
}

}  // namespace

TEST_CASE("equal layers make one kind, however the model lists them") {
  const Model model = run_of("llama-2-7b", "dgx-h100", 8, "megatron", "pp=2,tp=2", 64).model;
  const Block block = model.blocks.front().block;
  const Prediction once = predicted(run_with({{12, block}}, "pp=2,tp=2"));
  const Prediction thrice = predicted(run_with({{5, block}, {3, block}, {4, block}}, "pp=2,tp=2"));
  CHECK(once.step.value == thrice.step.value);
  CHECK(once.peak.value == thrice.peak.value);
}

TEST_CASE("on one stage the order of kinds does not matter, and each kind takes what it takes alone") {
  const Model model = run_of("llama-2-7b", "dgx-h100", 8, "megatron", "tp=2", 64).model;
  const Block wide = model.blocks.front().block, narrow = narrow_of(model);
  const auto step = [](std::vector<BlockRun> blocks) {
    return predicted(run_with(std::move(blocks), "tp=2")).step.value;
  };
  const double in_turns = step({{2, wide}, {2, narrow}, {2, wide}, {2, narrow}});
  CHECK(in_turns == step({{4, wide}, {4, narrow}}));
  // Between a model of eight layers of either kind: the mean of both, up to what the clock and the host make
  // of them.
  const double mean = (step({{8, wide}}) + step({{8, narrow}})) / 2;
  CHECK(in_turns == doctest::Approx(mean).epsilon(0.02));
}

TEST_CASE("stages get the kinds that the model has there") {
  const Model model = run_of("llama-2-7b", "dgx-h100", 8, "megatron", "pp=2,tp=2", 64).model;
  const Block wide = model.blocks.front().block, narrow = narrow_of(model);
  const Prediction p = predicted(run_with({{6, narrow}, {6, wide}}, "pp=2,tp=2"));
  REQUIRE(p.stages.size() == 2);
  CHECK(p.stages[0].layers == 6);
  CHECK(p.stages[1].layers == 6);
  CHECK(p.stages[1].forward > p.stages[0].forward * 1.5);
  const Prediction turned = predicted(run_with({{6, wide}, {6, narrow}}, "pp=2,tp=2"));
  CHECK(turned.stages[0].forward > turned.stages[1].forward);
  // A split of the plan's own moves whole layers: with four and eight, two wide ones join the narrow.
  Run run = run_with({{6, narrow}, {6, wide}}, "pp=2,tp=2");
  run.plan.layers_per_stage = {8, 4};
  REQUIRE(check_run(run));
  const Prediction uneven = predicted(run);
  CHECK(uneven.stages[0].layers == 8);
  CHECK(uneven.stages[0].forward > p.stages[0].forward);
  CHECK(uneven.stages[1].forward < p.stages[1].forward);
}

TEST_CASE("the first layers of a chunk are run again, whichever kind they are") {
  const Model model = run_of("llama-2-7b", "dgx-h100", 8, "megatron", "tp=2", 64).model;
  const Block wide = model.blocks.front().block, narrow = narrow_of(model);
  const auto peak = [](std::vector<BlockRun> blocks, const char* plan) {
    return predicted(run_with(std::move(blocks), plan)).peak_allocated.value;
  };
  const char* none = "tp=2,micro_batch=8";
  const char* one = "tp=2,micro_batch=8,recompute=full,recompute_layers=1";
  const std::vector<BlockRun> wide_first = {{1, wide}, {7, narrow}}, wide_last = {{7, narrow}, {1, wide}};
  CHECK(peak(wide_first, none) == peak(wide_last, none));
  // A wide layer keeps more than a narrow one, so running it again saves more.
  CHECK(peak(wide_first, one) < peak(wide_last, one));
  // In turns, the first two are one of each.
  const char* two = "tp=2,micro_batch=8,recompute=full,recompute_layers=2";
  CHECK(peak({{1, wide}, {1, narrow}, {1, wide}, {1, narrow}}, two) ==
        peak({{1, narrow}, {1, wide}, {1, narrow}, {1, wide}}, two));
}

TEST_CASE("offloaded layers of kinds that hardly differ leave as much here as equal ones") {
  const Model model = run_of("llama-2-7b", "dgx-h100", 8, "megatron", "tp=2", 64).model;
  const Block block = model.blocks.front().block;
  Block other = block;
  other.feed_forward.ffn += 16;  // a rank's rows stay multiples of 16 bytes
  for (const char* plan : {"tp=2,micro_batch=4,offload=true", "tp=2,micro_batch=4,zero=3",
                           "tp=2,micro_batch=4,recompute=full,recompute_layers=1"}) {
    CAPTURE(plan);
    const Prediction equal = predicted(run_with({{2, block}}, plan));
    const Prediction mixed = predicted(run_with({{1, block}, {1, other}}, plan));
    CHECK(mixed.peak.value == doctest::Approx(equal.peak.value).epsilon(0.002));
    CHECK(mixed.step.value == doctest::Approx(equal.step.value).epsilon(0.05));
  }
}

}  // namespace foretrain
