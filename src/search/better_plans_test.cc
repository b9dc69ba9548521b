#include "search/better_plans.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "job/run_check.h"
#include "predict/testing.h"
#include "predict/uncertainty.h"
#include "search/one_change.h"

using namespace foretrain;

namespace {

Run described(const char* plan) { return run_of("llama-2-7b", "dgx-h100", 16, "megatron", plan, 64); }

}  // namespace

TEST_CASE("plans one change away are legal, differ, and train the same") {
  const Run run = described("tp=2,pp=2,zero=1,recompute=full");
  const std::vector<OneChange> others = one_change_away(run);
  CHECK(others.size() > 10);
  for (const auto& [choice, other] : others) {
    Run again = other;
    CHECK(check_run(again).has_value());
    CHECK_FALSE(other.plan == run.plan);
    CHECK(other.plan.precision == run.plan.precision);
    CHECK(other.plan.optimizer == run.plan.optimizer);
    CHECK(other.global_batch == run.global_batch);
  }
}

TEST_CASE("a change of something else leaves the group that shards are divided over") {
  const Run run = described("zero=1,shard=8,overlap_grad_reduce=0");
  for (const auto& [choice, other] : one_change_away(run))
    if (other.plan.dp == run.plan.dp && choice != "zero") CHECK(other.plan.shard == 8);
}

TEST_CASE("a plan that reduces gradients after its backward is told to overlap them") {
  const Run run = described("tp=2,zero=1,overlap_grad_reduce=0");
  Evaluator evaluator = evaluator_of(run);
  const Prediction own = predict(run, evaluator);
  const BetterPlans better = better_plans(run, own, evaluator, nullptr, 0, 20);
  const auto found =
      std::find_if(better.one_change.begin(), better.one_change.end(),
                   [](const BetterPlan& plan) { return plan.run.plan.overlap_grad_reduce == true; });
  REQUIRE(found != better.one_change.end());
  // What it says is what the plan itself is predicted with.
  Run with = run;
  with.plan.overlap_grad_reduce = true;
  const Prediction prediction = predict(with, evaluator);
  CHECK(found->prediction.step.value == prediction.step.value);
  CHECK(found->gain == doctest::Approx(1 - prediction.step.value / own.step.value));
}

TEST_CASE("better plans fit, gain a percent at least, and the one that gains most comes first") {
  const Run run = described("tp=8,pp=2,recompute=full");
  Evaluator evaluator = evaluator_of(run);
  const Prediction own = predict(run, evaluator);
  const BetterPlans better = better_plans(run, own, evaluator, nullptr, 20, 5);
  REQUIRE_FALSE(better.one_change.empty());
  CHECK(better.one_change.size() <= 5);
  double last = 1;
  for (const BetterPlan& plan : better.one_change) {
    CHECK(plan.gain >= kLeastGain);
    CHECK(plan.gain <= last);
    CHECK(plan.prediction.needed <= most_that_fits(run.cluster.gpu.usable, run.stack.described));
    last = plan.gain;
  }
  REQUIRE(better.best);
  CHECK(better.best->gain > better.one_change.front().gain);
  CHECK(better.best->prediction.needed <= most_that_fits(run.cluster.gpu.usable, run.stack.described));
  CHECK(better.candidates > 0);
}

TEST_CASE("the best plan of a search has nothing better one change away") {
  const Run run = described("tp=8,pp=2,recompute=full");
  Evaluator evaluator = evaluator_of(run);
  const BetterPlans better = better_plans(run, predict(run, evaluator), evaluator, nullptr, 60, 5);
  REQUIRE(better.best);
  REQUIRE_FALSE(better.is_interrupted);
  const Run& best = better.best->run;
  const BetterPlans none = better_plans(best, predict(best, evaluator), evaluator, nullptr, 0, 5);
  // Flags that a search leaves to the stack may still gain a little.
  for (const BetterPlan& plan : none.one_change) CHECK(plan.gain < 0.05);
}
