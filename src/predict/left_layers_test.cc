// Layers that a recipe leaves in the format of the passes, wherever they lie: each stage has its own number of them.
#include <doctest/doctest.h>

#include "job/run_check.h"
#include "predict/any_run.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

// 61 layers of Llama 3 8B's kind, eight a stage and five on the last.
Prediction predicted(const std::string& more) {
  Run run = run_of("llama-3-8b", "dgx-b200", 8, "megatron", "pp=8", 16);
  run.plan = parse_plan("pp=8,precision=mxfp8,layers_per_stage=8-8-8-8-8-8-8-5," + more).value();
  run.model.blocks.front().count = 61;
  run.model.stated_params = 0;
  REQUIRE(check_run(run));
  Evaluator evaluator = evaluator_of(run);
  return evaluator.predict(run.plan, run.global_batch);
}

// Of a layer: qkv with eight heads of keys and values, projection, gate, up and down; two copies in mxfp8, which lie
// beside the weights of the passes.
constexpr double kHidden = 4096, kFfn = 14336;
constexpr double kCopies =
    2 * 1.03125 * (kHidden * (kHidden + 2 * 1024) + kHidden * kHidden + 3 * kHidden * kFfn);

void check_left(const std::string& ends, const std::vector<int>& left) {
  const Prediction whole = predicted("bf16_layers=0-0"), less = predicted("bf16_layers=" + ends);
  INFO(ends);
  for (std::size_t r = 0; r < left.size(); ++r) {
    INFO("stage ", r);
    CHECK((whole.stages[r].states.weights - less.stages[r].states.weights).value ==
          doctest::Approx(left[r] * kCopies));
    CHECK((less.stages[r].forward > whole.stages[r].forward) == (left[r] > 0));
  }
}

}  // namespace

TEST_CASE("first 3 of 61 layers, and first 1 and last 4, are left on the stages at the ends") {
  check_left("3-0", {3, 0, 0, 0, 0, 0, 0, 0});
  check_left("1-4", {1, 0, 0, 0, 0, 0, 0, 4});
}

TEST_CASE("more than a stage has are left on the stages beside it") {
  check_left("9-6", {8, 1, 0, 0, 0, 0, 1, 5});
  const Prediction p = predicted("bf16_layers=9-6");
  // One layer each of eight on stages without ends: they take the same, and each more than those between.
  CHECK(p.stages[1].forward.value == doctest::Approx(p.stages[6].forward.value));
  CHECK(p.stages[1].forward > p.stages[2].forward);
  CHECK(p.stages[2].forward.value == doctest::Approx(p.stages[5].forward.value));
}

TEST_CASE("all layers left: the model in bf16, but for what a recipe does besides") {
  const Prediction left = predicted("bf16_layers=61-0");
  for (const StagePrediction& stage : left.stages)
    CHECK(stage.states.weights.value == doctest::Approx(2.0 * static_cast<double>(stage.parameters)));
}

}  // namespace foretrain
