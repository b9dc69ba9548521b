#include "search/nearest.h"

#include <doctest/doctest.h>

#include "predict/testing.h"
#include "predict/uncertainty.h"

using namespace foretrain;

namespace {

// Keys in which two plans differ, but for dp, which the others decide.
int changes(const Plan& a, const Plan& b) {
  return (a.sp != b.sp) + (a.recompute != b.recompute) + (a.zero != b.zero) +
         (a.micro_batch != b.micro_batch) + (a.tp != b.tp) + (a.pp != b.pp) + (a.loss != b.loss) +
         (a.mlp_chunks != b.mlp_chunks) + (a.offload != b.offload);
}

}  // namespace

TEST_CASE("the nearest plans that fit do fit, differ in few keys, and come nearest and fastest first") {
  const Run run = run_of("llama-2-13b", "dgx-h100", 8, "megatron", "tp=2,micro_batch=4", 64);
  Evaluator evaluator = evaluator_of(run);
  CHECK_FALSE(evaluator.score(run.plan, run.global_batch).fits);
  const auto nearest = nearest_fitting(run, evaluator);
  REQUIRE(nearest.size() == 3);
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    const FittingPlan& plan = nearest[i];
    Run checked = run;
    checked.plan = plan.plan;
    CHECK(check_run(checked).has_value());
    CHECK(evaluator.score(plan.plan, run.global_batch) == plan.score);
    CHECK(plan.score.fits);
    CHECK(plan.fit_probability >= 0.8);
    if (i == 0) continue;
    const int before = changes(run.plan, nearest[i - 1].plan), now = changes(run.plan, plan.plan);
    CHECK(before <= now);
    if (before == now) CHECK(nearest[i - 1].score.step <= plan.score.step);
  }
}

TEST_CASE("where one change is enough, it is one change") {
  // 13e9 parameters of 18 bytes do not fit on one GPU of eight; sharded three ways they do.
  const Run run = run_of("llama-2-13b", "dgx-h100", 8, "generic", "recompute=full", 64);
  Evaluator evaluator = evaluator_of(run);
  const auto nearest = nearest_fitting(run, evaluator);
  REQUIRE_FALSE(nearest.empty());
  CHECK(changes(run.plan, nearest.front().plan) == 1);
}

TEST_CASE("no more layers are run again than it takes, where a stack can run some of them again") {
  const auto by_recomputation = [](const char* stack) {
    Run run = run_of("llama-2-13b", "dgx-h100", 8, stack, "tp=8,micro_batch=8", 64);
    run.stack = Catalog().stack(stack).value();  // with its rules
    Evaluator evaluator = evaluator_of(run);
    CHECK_FALSE(evaluator.score(run.plan, run.global_batch).fits);
    for (const FittingPlan& near : nearest_fitting(run, evaluator, 20)) {
      if (near.plan.recompute != Recompute::kFull || changes(run.plan, near.plan) != 1) continue;
      if (const std::int64_t layers = near.plan.recompute_layers; layers > 1) {
        Plan fewer = near.plan;
        fewer.recompute_layers = layers - 1;
        const Score score = evaluator.score(fewer, run.global_batch);
        CHECK(score.needed > near.score.needed);
        CHECK(fit_probability(score.needed, run.cluster.gpu.usable, run.stack.described) < kFitsFrom);
      }
      return near.plan.recompute_layers;
    }
    return std::int64_t{-1};
  };
  const std::int64_t some = by_recomputation("megatron");  // of 40
  CHECK(some > 0);
  CHECK(some < 40);
  CHECK(by_recomputation("nanotron") == 0);  // all or none
}

TEST_CASE("a model that nothing makes fit has no nearest plan, and a prediction of a plan that fits none") {
  const Run large = run_of("gpt-1t", "h200-1", 1, "generic", "", 1);
  Evaluator evaluator = evaluator_of(large);
  CHECK(nearest_fitting(large, evaluator).empty());
  CHECK(predict_or_nearest(run_of("gpt2", "h200-1", 1, "generic", "", 1)).would_fit.empty());
}

TEST_CASE("where nothing else helps, other trainings follow: 8-bit states, the CPU's update, adapters") {
  const auto nearest_of = [](const char* model, const char* plan) {
    const Run run = run_of(model, "h200-1", 1, "hf-peft", plan, 1);
    Evaluator evaluator = evaluator_of(run);
    return nearest_fitting(run, evaluator);
  };
  // 32e9 parameters of 8 bytes on one GPU of 141 GB: 4 bytes and a little with 8-bit or host states fit, and so
  // do adapters beside 2 bytes.
  const auto nearest = nearest_of("qwen2.5-32b", "recompute=full");
  REQUIRE_FALSE(nearest.empty());
  for (const FittingPlan& plan : nearest)
    CHECK((plan.plan.optimizer == OptimizerKind::kAdamw8bit || plan.plan.offload_optimizer ||
           plan.plan.lora > 0));
  // 70e9 fit as adapters beside four bits alone, whatever else changes.
  const auto large = nearest_of("llama-3-70b", "recompute=full");
  REQUIRE(large.size() == 1);
  CHECK(large.front().plan.lora == 16);
  CHECK(large.front().plan.base == BaseFormat::kNf4);
}

TEST_CASE("a plan that the host's memory cannot hold is not near") {
  // Moments alone of 32e9 parameters are 8 bytes each in the host's memory, 256 GB: more than 64 GiB.
  Run run = run_of("qwen2.5-32b", "h200-1", 1, "hf-peft", "recompute=full", 1);
  run.cluster.host_memory = gib(64);
  Evaluator evaluator = evaluator_of(run);
  Plan offloaded = run.plan;
  offloaded.offload_optimizer = true;
  CHECK(evaluator.weigh(offloaded, run.global_batch).host() > gib(230));
  for (const FittingPlan& plan : nearest_fitting(run, evaluator, 20)) {
    CHECK_FALSE(plan.plan.offload_optimizer);
    CHECK(evaluator.weigh(plan.plan, run.global_batch).host() <= gib(64));
  }
}

TEST_CASE("sequence parallelism is found for a plan that had no tensor parallelism to go with it") {
  // 30e9 parameters over 24 GPUs of 40 GB: sharded and split twice, the activations have to be split too, or to wait
  // in the host's memory.
  const Run run = run_of("mpt-30b", "mosaic-a100-40", 24, "generic", "pp=4,zero=2,recompute=full", 48);
  Evaluator evaluator = evaluator_of(run);
  const auto nearest = nearest_fitting(run, evaluator);
  REQUIRE(nearest.size() == 3);
  CHECK(nearest[0].plan.tp > 1);
  CHECK(nearest[0].plan.offload);
  CHECK(nearest[1].plan.sp);
}

TEST_CASE("what fits does not depend on how many micro-batches a step has") {
  const auto first = [](std::int64_t global_batch) {
    const Run run = run_of("gpt3-175b", "dgx-h100", 64, "generic", "tp=4,pp=8", global_batch);
    Evaluator evaluator = evaluator_of(run);
    return nearest_fitting(run, evaluator);
  };
  CHECK(first(4096).size() == 3);
  CHECK(first(1 << 20).size() == 3);
}

TEST_CASE(
    "where logits are what does not fit, a loss in pieces is enough; where activations are, the host's "
    "memory") {
  const auto nearest = [](std::int64_t seq, const char* stack, const char* plan) {
    RunOptions options;
    options.model = "llama-3-8b";
    options.cluster = "dgx-h100";
    options.stack = stack;
    options.gpus = 8;
    options.seq = seq;
    options.global_batch = 8;
    options.plan = plan;
    const Run run = parse_run(nullptr, options, Catalog()).value();
    Evaluator evaluator = evaluator_of(run);
    CHECK_FALSE(evaluator.score(run.plan, run.global_batch).fits);
    return nearest_fitting(run, evaluator).at(0).plan;
  };
  // 64k tokens of 128,256 words: 31 GiB in fp32, twice.
  const Plan chunked = nearest(65536, "generic", "zero=3,recompute=full");
  CHECK(chunked.loss.has_value());
  CHECK(chunked.loss != LossKind::kWhole);
  CHECK_FALSE(chunked.offload);
  // Not offered by this stack: never proposed.
  CHECK_FALSE(nearest(65536, "megatron", "zero=1,recompute=full").loss.has_value());
  // With the loss in pieces already, what 128k tokens keep of 32 layers goes to the host.
  CHECK(nearest(131072, "generic", "zero=3,recompute=full,loss=fused").offload);
}
