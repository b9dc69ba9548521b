#include "predict/jitter.h"

#include <doctest/doctest.h>

#include <cmath>

namespace foretrain {
namespace {

struct TwoStages {
  std::vector<ChunkLoad> chunks = std::vector<ChunkLoad>(2);
  PipelineWork work;
  Timeline timeline;
  Seconds step;

  TwoStages() {
    for (ChunkLoad& load : chunks) load.forward = Seconds(1), load.backward = Seconds(2);
    work.chunks = chunks;
    work.micro_batches = 4;
    step = timeline.simulate(work);
  }
  StepDistribution drawn(const Jitter& jitter, std::int64_t nodes = 1, std::int64_t replicas = 1) {
    return drawn_steps(work, step, jitter, nodes, replicas, timeline);
  }
};

TEST_CASE("without jitter all steps are alike") {
  TwoStages two;
  const StepDistribution none = two.drawn({});
  CHECK(none.fastest == two.step);
  CHECK(none.median == two.step);
  CHECK(none.p90 == two.step);
}

TEST_CASE("stalls: as many steps have none as Poisson says") {
  // 15 s on 10 nodes at 12 an hour each: 0.5 a step. 61 % of the steps have none, so the median is the step
  // itself; the 90th percentile is where the stalls' sum passes: P(sum <= x) = 0.9.
  TwoStages two;
  Jitter jitter;
  jitter.stalls_per_node_hour = 12;
  jitter.stall = Seconds(1);
  CHECK(two.step == Seconds(15));
  const StepDistribution few = two.drawn(jitter, 10);
  CHECK(few.median == two.step);
  // P(sum > x) = sum over n of Poisson(n; 0.5) Q(n, x): 0.1 at x = 1.69.
  CHECK((few.p90 - two.step).value == doctest::Approx(1.69).epsilon(0.15));
  // With ten times as many, 5 a step: mean 5, deviation sqrt(10).
  const StepDistribution many = two.drawn(jitter, 100);
  CHECK((many.median - two.step).value == doctest::Approx(4.67).epsilon(0.1));
  CHECK(many.fastest < many.median);
  CHECK(many.median < many.p90);
}

TEST_CASE("very many stalls are drawn from their limit, at once") {
  TwoStages two;
  Jitter jitter;
  jitter.stalls_per_node_hour = 1e6;
  jitter.stall = Seconds(1e-3);
  // 15 s on 10,000 nodes: 4.17e7 stalls of 1 ms.
  const StepDistribution many = two.drawn(jitter, 10000);
  CHECK((many.median - two.step).value == doctest::Approx(15.0 * 10000 * 1e6 / 3600 * 1e-3).epsilon(0.001));
}

TEST_CASE("a rank of many replicas is as slow as the slowest of them") {
  TwoStages two;
  Jitter jitter;
  jitter.spread = 0.01;
  const StepDistribution one = two.drawn(jitter, 1, 1), hundred = two.drawn(jitter, 1, 100);
  // Two stages, each 1 % off: the step follows the slower, its median 0.3 % above or so.
  CHECK(one.median.value == doctest::Approx(15 * 1.003).epsilon(0.003));
  // The largest of 100 normal numbers is 2.5 in the middle, of two such 2.75.
  CHECK(hundred.median.value == doctest::Approx(15 * std::exp(0.0275)).epsilon(0.005));
}

TEST_CASE("the same draws every time") {
  TwoStages two;
  Jitter jitter;
  jitter.spread = 0.02;
  jitter.stalls_per_node_hour = 100;
  jitter.stall = Seconds(2);
  CHECK(two.drawn(jitter, 8).p90 == two.drawn(jitter, 8).p90);
}

}  // namespace
}  // namespace foretrain
