// What the network takes between passes, with the say of those who fitted it.
#include "predict/traffic.h"

#include <doctest/doctest.h>

#include <numeric>

#include "predict/testing.h"

namespace foretrain {
namespace {

CollectiveCost cost_of(double seconds, double spread, Origin origin) {
  CollectiveCost cost;
  cost.seconds = Seconds(seconds);
  cost.spread = spread;
  cost.origin = origin;
  return cost;
}

double share(const Prediction& p, Origin origin) { return p.origin_shares[static_cast<std::size_t>(origin)]; }

// Of a run on one GPU of each stage and replica: the layout that its plan has.
Network network_of(const Run& run) {
  return Network(run.cluster, {.tp = 1, .cp = 1, .dp = run.plan.dp, .pp = run.plan.pp});
}

TEST_CASE("a mix keeps its origins' shares and its relative spread, however much of it is waited for") {
  NetworkTime mix(cost_of(3, 0.1, Origin::kInterpolated));
  mix += NetworkTime(cost_of(1, 0.5, Origin::kAnalytic));
  CHECK(mix.seconds == Seconds(4));
  CHECK(mix.uncertain.value == doctest::Approx(0.3 + 0.5));
  const NetworkTime half = mix.waited_for(Seconds(2));
  CHECK(half.seconds == Seconds(2));
  CHECK(half.uncertain.value == doctest::Approx(0.4));
  CHECK(half.by_origin[static_cast<std::size_t>(Origin::kInterpolated)] == Seconds(1.5));
  CHECK(half.by_origin[static_cast<std::size_t>(Origin::kAnalytic)] == Seconds(0.5));
  CHECK(NetworkTime().waited_for(Seconds(1)).seconds == Seconds(0));
}

TEST_CASE(
    "a fitted reduction is booked as fitted, by its seconds in the breakdown, and spreads as its samples") {
  // Perlmutter's all-reduce was fitted, the operators here were not: of what operators and the reduction take
  // together, the share that is not analytic is the reduction's.
  const Run run = run_of("gpt2-medium", "perlmutter", 8, "megatron", "tp=1", 64);
  REQUIRE(run.plan.dp == 8);
  const Prediction p = predict(run);
  const Seconds operators = std::accumulate(p.operators.begin(), p.operators.end(), Seconds(0));
  const Seconds reduction = cause(p, StepCause::kGradientReduce);
  REQUIRE(reduction > Seconds(0));
  const CollectiveCost cost =
      network_of(run).cost({CollectiveKind::kAllReduce, GroupKind::kData,
                            Bytes(4.0 * static_cast<double>(p.stages[0].parameters)), true});
  REQUIRE(cost.origin != Origin::kAnalytic);
  CHECK(share(p, cost.origin) == doctest::Approx(reduction / (reduction + operators)));
  CHECK(share(p, Origin::kAnalytic) == doctest::Approx(operators / (reduction + operators)));
  CHECK(p.uncertain.reductions.value == doctest::Approx(reduction.value * cost.spread));
}

TEST_CASE("messages are booked as the link that they take was sampled") {
  const Run run = run_of("gpt2-medium", "perlmutter", 2, "megatron", "pp=2", 64);
  const Prediction p = predict(run);
  const Seconds sending = cause(p, StepCause::kPipelineSend);
  REQUIRE(sending > Seconds(0));
  const Bytes bytes(2.0 * static_cast<double>(run.plan.micro_batch * run.seq * run.model.hidden));
  const CollectiveCost cost = network_of(run).send(0, bytes);
  REQUIRE(cost.origin != Origin::kAnalytic);
  const Seconds operators = std::accumulate(p.operators.begin(), p.operators.end(), Seconds(0));
  const Seconds exchange = cause(p, StepCause::kEmbeddingExchange);
  CHECK(share(p, Origin::kAnalytic) == doctest::Approx(operators / (operators + sending + exchange)));
  CHECK(p.uncertain.sends.value == doctest::Approx(sending.value * cost.spread));
}

TEST_CASE("without fitted collectives all of it is analytic, as sure as its links are") {
  const Run run = run_of("gpt2-medium", "dgx-a100", 8, "megatron", "pp=2,zero=1", 64);
  REQUIRE(run.cluster.collectives.empty());
  const Prediction p = predict(run);
  CHECK(share(p, Origin::kAnalytic) == doctest::Approx(1));
  const Seconds reduced = cause(p, StepCause::kGradientReduce) + cause(p, StepCause::kParameterGather) +
                          cause(p, StepCause::kEmbeddingExchange);
  const double spread = network_of(run).send(0, Bytes(1)).spread;  // inside the node, like everything here
  CHECK(p.uncertain.reductions.value == doctest::Approx(reduced.value * spread));
}

}  // namespace
}  // namespace foretrain
