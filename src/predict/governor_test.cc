// What a governor does to a step, with the H200's profile, which knows what power does.
#include <doctest/doctest.h>

#include "cost/profile_store.h"
#include "predict/testing.h"

namespace foretrain {
namespace {

Evaluator governed(const Run& run, double cap_w) {
  Cluster cluster = run.cluster;
  cluster.gpu.power_cap_w = cap_w;
  return Evaluator(run.model, cluster, run.stack, run.seq, ProfileStore().costs_for(cluster, "")->costs);
}

TEST_CASE("a lower power cap lowers the clock of every stage and never makes a step faster") {
  const Run run =
      run_of("llama-2-13b", "aws-p5", 64, "megatron", "tp=2,pp=4,micro_batch=2,recompute=full", 128);
  Seconds last;
  double last_clock = 1e9;
  for (const double cap : {3000.0, 700.0, 600.0, 500.0, 400.0}) {
    Evaluator evaluator = governed(run, cap);
    const Prediction p = evaluator.predict(run.plan, run.global_batch);
    CHECK(Seconds(p.step.value) >= last);
    REQUIRE(p.stages.size() == 4);
    for (const StagePrediction& stage : p.stages) {
      REQUIRE(stage.clock_mhz.has_value());
      CHECK(*stage.clock_mhz <= 1980);
      CHECK(*stage.clock_mhz > 0.3 * 1979);
    }
    CHECK(*p.stages[1].clock_mhz <= last_clock);
    CHECK(*p.stages[1].clock_mhz == *p.stages[2].clock_mhz);  // inner stages are equal
    last = Seconds(p.step.value), last_clock = *p.stages[1].clock_mhz;
    // The parts add up at the clock as they do without one.
    Seconds sum;
    for (const Seconds s : p.breakdown) sum += s;
    CHECK(sum.value == doctest::Approx(p.step.value).epsilon(1e-6));
    const Score score = evaluator.score(run.plan, run.global_batch);
    CHECK(score.step.value == p.step.value);
    CHECK(score.spread == p.step.spread);
  }
  Evaluator uncapped = governed(run, 3000);
  CHECK(*uncapped.predict(run.plan, run.global_batch).stages[0].clock_mhz == doctest::Approx(1980));
}

TEST_CASE("work that waits leaves the clock up: a deep pipeline with few micro-batches draws less") {
  const Run busy = run_of("llama-2-13b", "aws-p5", 8, "megatron", "tp=2,pp=4,recompute=full", 64);
  const Run waiting = run_of("llama-2-13b", "aws-p5", 8, "megatron", "tp=2,pp=4,recompute=full", 4);
  Evaluator evaluator = governed(busy, 500);
  CHECK(*evaluator.predict(busy.plan, busy.global_batch).stages[1].clock_mhz <
        *evaluator.predict(waiting.plan, waiting.global_batch).stages[1].clock_mhz);
}

TEST_CASE("without a power model there is no clock to tell") {
  const Run run = run_of("gpt3-175b", "selene", 64, "megatron", "tp=8,pp=2", 64);
  CHECK_FALSE(evaluator_of(run).predict(run.plan, run.global_batch).stages[0].clock_mhz.has_value());
}

}  // namespace
}  // namespace foretrain
