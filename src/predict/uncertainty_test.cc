#include "predict/uncertainty.h"

#include <doctest/doctest.h>

#include <string>

#include "predict/testing.h"

using namespace foretrain;

namespace {

Uncertainty resting_on(double derived, double analytic, Described described = Described::kMeasured) {
  Uncertainty u;
  u.derived = derived;
  u.analytic = analytic;
  u.described = described;
  return u;
}

Estimate step_of(const Uncertainty& u) {
  return {1.0, relative_spread(u, Seconds(1)), Origin::kAnalytic, spread_above(u)};
}

double width(const Uncertainty& u) { return std::log(step_of(u).high() / step_of(u).low()); }

}  // namespace

TEST_CASE("analytic is never surer than derived, derived never than sampled") {
  for (const double share : {0.1, 0.5, 1.0}) {
    CHECK(width(resting_on(share, 0)) >= width(resting_on(0, 0)));
    CHECK(width(resting_on(0, share)) >= width(resting_on(share, 0)));
    CHECK(width(resting_on(0, share)) > width(resting_on(0, 0)));
    CHECK(width(resting_on(0.5 * share, 0.5 * share)) <= width(resting_on(0, share)));
  }
}

TEST_CASE("the less is known of a stack, the wider") {
  using enum Described;
  for (const double share : {0.0, 1.0}) {
    CHECK(width(resting_on(share, 0, kDocumented)) >= width(resting_on(share, 0, kMeasured)));
    CHECK(width(resting_on(share, 0, kAssumed)) >= width(resting_on(share, 0, kDocumented)));
    CHECK(width(resting_on(share, 0, kAssumed)) > width(resting_on(share, 0, kMeasured)));
  }
}

// With nothing in common the interval is symmetric in logarithms; of what parts have in common a share counts below.
TEST_CASE("intervals widen by what all parts have in common, below no more than above") {
  const Estimate sampled = step_of(resting_on(0, 0));
  CHECK(sampled.high() * sampled.low() == doctest::Approx(1));
  CHECK(sampled.high() == doctest::Approx(std::exp(kZ80 * kComposition)));
  const Estimate analytic = step_of(resting_on(0, 1));
  CHECK(analytic.high() * analytic.low() >= 1 - 1e-12);
  CHECK(std::log(analytic.high()) == doctest::Approx(kZ80 * std::hypot(kComposition, kAnalyticSpread)));
  CHECK(std::log(analytic.low()) ==
        doctest::Approx(-kZ80 * std::hypot(kComposition, kLean * kAnalyticSpread)));
}

TEST_CASE("a run's own figures: what nobody described, on a GPU that nobody sampled, is least sure") {
  const auto width_of = [](const char* cluster, const char* stack) {
    const Run run = run_of("llama-3-8b", cluster, 8, stack, "zero=1,tp=8,sp=1", 64);
    const Estimate step = evaluator_of(run).predict(run.plan, run.global_batch).step;
    return std::log(step.high() / step.low());
  };
  CHECK(width_of("dgx-h100", "generic") > width_of("dgx-h100", "megatron"));
}

// gpt2 waits for its host all the time: a host that is slower by a quarter makes it slower by nearly that.
TEST_CASE("a step that waits for its host is as unsure as hosts are") {
  const Run host = run_of("gpt2", "dgx-h100", 1, "megatron", "", 8),
            graph = run_of("gpt2", "dgx-h100", 1, "megatron", "cuda_graph=full", 8);
  const Prediction waits = evaluator_of(host).predict(host.plan, 8),
                   free = evaluator_of(graph).predict(graph.plan, 8);
  CHECK(waits.uncertain.launches.value > 0.8 * kLaunchSpread * waits.step.value);
  CHECK(free.uncertain.launches.value < 0.2 * kLaunchSpread * free.step.value);
}

// ZeRO 1 of nanotron puts all weights together in one block more, which the allocator gives back and asks for again where there
// is no room for it beside the passes' segments; then the step may take longer, never less.
TEST_CASE("where the allocator cannot keep all that it would, a step may take longer") {
  const Run run = run_of("llama-2-7b", "aws-p5", 16, "nanotron", "pp=2,zero=1,micro_batch=1", 256);
  std::size_t seen = 0, beyond = 0;
  for (const double share : {0.7, 0.98, 1.02, 1.3, 3.0}) {
    Run sized = run;
    const Prediction whole = evaluator_of(run).predict(run.plan, run.global_batch);
    Bytes total, needed;
    for (const StagePrediction& stage : whole.stages) {
      total = std::max(total, stage.memory.total);
      needed = std::max(needed, stage.memory.needed);
    }
    REQUIRE(needed < total * 0.97);
    sized.cluster.gpu.usable = total / share;
    const Prediction p = evaluator_of(sized).predict(sized.plan, sized.global_batch);
    // Also where more is needed than there is, as long as it may run all the same; with a third of it, it does not.
    const bool between = sized.cluster.gpu.usable < total && p.fit_probability >= kMayRun;
    CHECK(p.uncertain.retries == between);
    beyond += share > 1 && !between;
    CHECK(p.step.value == whole.step.value);
    CHECK(p.step.low() == whole.step.low());
    CHECK(std::log(p.step.high() / p.step.value) >= (between ? kZ80 * kRetrySpread : 0.0));
    seen += between;
  }
  CHECK(seen >= 1);
  CHECK(beyond >= 1);
}
