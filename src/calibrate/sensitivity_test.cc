// What factors do to whole predictions.
#include "calibrate/sensitivity.h"

#include <doctest/doctest.h>

#include <cmath>

#include "calibrate/testing.h"
#include "job/mesh.h"

using namespace foretrain;

namespace {

double longer(const Run& run, const ClusterFactors& factors) {
  const auto costs = std::make_shared<const AnalyticCost>(run.cluster);
  return predict_with(run, costs, factors).step.value / predict_with(run, costs, {}).step.value;
}

}  // namespace

TEST_CASE("where all that takes time takes x times as long, so does a step") {
  ClusterFactors all;
  all.fill(std::log(1.3));
  all[static_cast<std::size_t>(ClusterFactor::kBeside)] = 0;  // a ratio
  std::vector<Run> runs = varied_runs();
  runs.push_back(run_on_dgx("mixtral-8x7b", 32, 64, "tp=2,sp=1,ep=8"));
  runs.push_back(run_on_dgx("deepseek-v3", 64, 128, "tp=1,pp=2,ep=32,zero=1"));
  runs.push_back(run_on_dgx("llama-3-8b", 64, 64, "tp=2,cp=16"));
  for (const Run& run : runs) {
    INFO(run.model.name, " on ", mesh_of(run.plan).gpus(), " GPUs");
    CHECK(longer(run, all) == doctest::Approx(1.3).epsilon(0.002));
  }
}

TEST_CASE("what runs beside collectives is slowed by its own factor, and nothing else") {
  ClusterFactors beside{};
  beside[static_cast<std::size_t>(ClusterFactor::kBeside)] = std::log(2);
  const Run overlapped = run_on_dgx("llama-3-8b", 32, 32, "tp=1,zero=3");
  CHECK(longer(overlapped, beside) > 1.005);
  CHECK(longer(overlapped, beside) < 1.189);
  CHECK(longer(run_on_dgx("gpt2", 1, 16, "micro_batch=16"), beside) == 1);
  CHECK(longer(run_on_dgx("llama-3-8b", 8, 8, "tp=8"), beside) == 1);
}
