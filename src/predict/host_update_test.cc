#include "predict/host_update.h"

#include <doctest/doctest.h>

#include "predict/testing.h"

using namespace foretrain;

namespace {

Run offloaded(const std::string& plan, std::int64_t gpus) {
  Run run = run_of("llama-3-8b", "dgx-h100", gpus, "generic", plan, gpus);
  run.cluster.cpu_memory = gigabytes_per_second(400);
  return run;
}

}  // namespace

TEST_CASE("a CPU's update takes 28 bytes an element at its memory's rate, and weights come up over PCIe") {
  const Run run = offloaded("zero=1,offload_optimizer=1", 8);
  const double owned = 8'030'261'248.0 / 8, pcie = run.cluster.gpu.host.value;
  const Seconds expected(owned * 28 * 8 / 400e9 + owned * 2 / pcie);
  const Seconds update =
      offloaded_update(run.cluster, job_of(run), static_cast<std::int64_t>(owned), Seconds(1e9));
  CHECK(update.value == doctest::Approx(expected.value));
  // What the last backward does not hide of the gradients' way down comes on top.
  const Seconds alone =
      offloaded_update(run.cluster, job_of(run), static_cast<std::int64_t>(owned), Seconds(0));
  CHECK(alone.value == doctest::Approx(expected.value + owned * 2 / pcie));
}

TEST_CASE("an offloaded optimizer's seconds are in the step, its bytes off the GPU") {
  const Run run = offloaded("zero=1,offload_optimizer=1,recompute=full", 8);
  const Prediction there = predict(run);
  Run plain = run;
  plain.plan.offload_optimizer = false;
  const Prediction here = predict(plain);
  const double owned = 8'030'261'248.0 / 8;
  const double least = owned * 28 * 8 / 400e9;
  CHECK(cause(there, StepCause::kOptimizer).value > least);
  CHECK(cause(there, StepCause::kOptimizer).value < 1.5 * least);
  CHECK(there.step.value - here.step.value > 0.8 * least);
  CHECK((here.needed - there.needed).value == doctest::Approx(12 * owned).epsilon(0.01));
  double sum = 0;
  for (const Seconds s : there.breakdown) sum += s.value;
  CHECK(sum == doctest::Approx(there.step.value));
}

TEST_CASE("paged states cost nothing where they fit, and their way both ways where they do not") {
  const auto of = [](const std::string& plan) {
    return predict(run_of("llama-3-8b", "dgx-h100", 1, "generic", plan, 1));
  };
  const std::string plan = "recompute=full,master_weights=0";
  const Prediction paged = of(plan + ",paged=1"), plain = of(plan);
  const StagePrediction& stage = paged.stages.front();
  CHECK(paged.needed < plain.needed);
  CHECK(stage.paged_out.value == doctest::Approx((plain.peak - plain.usable).value).epsilon(0.1));
  const double longer = cause(paged, StepCause::kOptimizer).value - cause(plain, StepCause::kOptimizer).value;
  CHECK(longer == doctest::Approx(2 * stage.paged_out.value / 50e9));
  // The fp32 copy stays: no more than two moments of every parameter can go.
  const Prediction kept = of("recompute=full,paged=1");
  CHECK(kept.stages.front().paged_out.value == doctest::Approx(8.0 * static_cast<double>(kept.params)));
  const Prediction small = predict(run_of("gpt2", "dgx-h100", 1, "hf-peft", "paged=1", 1));
  CHECK(small.stages.front().paged_out.value == 0);
}
