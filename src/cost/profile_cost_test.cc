#include "cost/profile_cost.h"

#include <doctest/doctest.h>

#include "cost/testing.h"
#include "operators/attention.h"
#include "operators/optimizer.h"
#include "operators/pointwise.h"

using namespace foretrain;

TEST_CASE("an operator's own model answers, for both half formats, and widens outside its samples") {
  const Forest forest = step_forest();
  const ProfileCost costs(ModelFile::open(to_bytes({linear_model(forest, PassKind::kForward)}), "m").value(),
                          a100());
  const Operator inside = linear(4096, PassKind::kForward);
  const OperatorCost cost = costs.cost(inside);
  CHECK(cost.gpu.value == doctest::Approx(1.25 * flops(inside).value / 312e12));
  CHECK(cost.origin == Origin::kInterpolated);
  CHECK(cost.spread == doctest::Approx(0.03));
  CHECK(cost.host == microseconds(6));  // not sampled: the cluster's
  CHECK(costs.cost(linear(4096, PassKind::kForward, Dtype::kBf16)).gpu == cost.gpu);
  const OperatorCost outside = costs.cost(linear(20000, PassKind::kForward));
  CHECK(outside.origin == Origin::kExtrapolated);
  CHECK(outside.spread == doctest::Approx(0.1 + 0.05 * 1.1));  // one doubling and the step over the border
}

TEST_CASE(
    "rows that no sample has are carried by the ratio of analytic times, called extrapolated, widened") {
  const Forest forest = step_forest();
  OperatorModelView model = linear_model(forest, PassKind::kForward);
  const ProfileCost costs(ModelFile::open(to_bytes({model}), "m").value(), a100());
  const AnalyticCost physics(a100());
  const Operator odd = foretrain::linear({.m = 4096, .k = 4096, .n = 4097}, {.dtype = Dtype::kFp16});
  const Operator padded = foretrain::linear({.m = 4096, .k = 4096, .n = 4104}, {.dtype = Dtype::kFp16});
  CHECK(with_aligned_rows(odd) == padded);
  CHECK(with_aligned_rows(padded) == padded);
  const OperatorCost cost = costs.cost(odd);
  const double ratio = physics.cost(odd).gpu / physics.cost(padded).gpu;
  CHECK(ratio > 3);  // 430 operations a clock and SM against about 0.7 of 2048
  CHECK(cost.gpu / costs.cost(padded).gpu == doctest::Approx(ratio));
  CHECK(cost.origin == Origin::kExtrapolated);
  CHECK(cost.spread > 0.3);
  CHECK(costs.cost(padded).origin == Origin::kInterpolated);
  // A fit that saw such rows gives them weight, and is believed.
  const Terms narrow = physical_terms(odd, a100().gpu), whole = physical_terms(padded, a100().gpu);
  std::size_t term = 0;
  while (narrow.seconds[term] == 0 || whole.seconds[term] != 0) ++term;
  model.coefficients[term] = 1;
  const ProfileCost sampled(ModelFile::open(to_bytes({model}), "m").value(), a100());
  CHECK(sampled.cost(odd).origin == Origin::kInterpolated);
}

TEST_CASE("a backward in two parts adds up to the model of both at once") {
  const Forest forest = step_forest();
  OperatorModelView whole = linear_model(forest, PassKind::kBackward);
  whole.residual = {};  // two products have more features than one
  const ProfileCost costs(ModelFile::open(to_bytes({whole}), "m").value(), a100());
  const Seconds both = costs.cost(linear(4096, PassKind::kBackward)).gpu;
  const OperatorCost input = costs.cost(linear(4096, PassKind::kInput));
  const OperatorCost weight = costs.cost(linear(4096, PassKind::kWeight));
  CHECK((input.gpu + weight.gpu).value == doctest::Approx(both.value).epsilon(0.01));
  CHECK(input.origin == Origin::kDerived);
  CHECK(input.spread > 0.03);
}

TEST_CASE("a product's backward without samples is two products of the forward's model") {
  const Forest forest = step_forest();
  OperatorModelView zeros = linear_model(forest, PassKind::kBackward);
  zeros.key.impl = Impl::kZeroGrad;
  zeros.coefficients[1] = 1.0;
  zeros.residual = {};
  const ProfileCost costs(
      ModelFile::open(to_bytes({linear_model(forest, PassKind::kForward), zeros}), "m").value(), a100());
  const OperatorCost forward = costs.cost(linear(4096, PassKind::kForward));
  const OperatorCost both = costs.cost(linear(4096, PassKind::kBackward));
  CHECK(both.gpu / forward.gpu == doctest::Approx(2));
  CHECK(both.origin == Origin::kDerived);
  CHECK(both.spread > forward.spread);
  for (const PassKind pass : {PassKind::kInput, PassKind::kWeight})
    CHECK(costs.cost(linear(4096, pass)).gpu == forward.gpu);
  // The gradient of a narrow weight is as long as its transpose, whose rows are many.
  CHECK(costs.cost(linear(64, PassKind::kWeight)).gpu.value ==
        doctest::Approx(1.25 * 2 * 64 * 4096.0 * 4096 / 312e12));
}

TEST_CASE("an implementation without samples takes its relative's efficiency") {
  OperatorModelView model;
  model.key = {OperatorKind::kRmsnorm, Impl::kFp32Scale, PassKind::kForward, Dtype::kFp16};
  model.coefficients[1] = 4;  // of bytes over bandwidth
  model.facts.size_high = {100000, 100000};
  const ProfileCost costs(ModelFile::open(to_bytes({model}), "m").value(), a100());
  const AnalyticCost physics(a100());
  Operator op = pointwise(OperatorKind::kRmsnorm, {.tokens = 8192, .width = 4096},
                          {.impl = Impl::kFp32Scale, .dtype = Dtype::kFp16});
  const Operator sampled = op;
  op.impl = Impl::kAten;
  CHECK(costs.cost(op).gpu / costs.cost(sampled).gpu ==
        doctest::Approx(physics.cost(op).gpu / physics.cost(sampled).gpu));
  CHECK(costs.cost(op).origin == Origin::kDerived);
  op.impl = Impl::kFused;  // of LayerNorm's kind: nothing to take it from
  CHECK(costs.cost(op).origin == Origin::kAnalytic);
}

TEST_CASE("an update without a master copy has a model of its own") {
  Operator op = optimizer(OperatorKind::kAdamw, {1000, 1, kMixedStates},
                          {.impl = Impl::kFused, .pass = PassKind::kStep});
  CHECK(key_of(op).impl == Impl::kFused);
  op.set(StateSizes{1000, 1, kNarrowStates});
  CHECK(key_of(op).impl == Impl::kFusedBf16);
}

TEST_CASE(
    "what a profile lacks comes from the one it derives from, by the ratio of physics, or from physics") {
  const Forest forest = step_forest();
  const auto parent = std::make_shared<const ProfileCost>(
      ModelFile::open(to_bytes({linear_model(forest, PassKind::kForward)}), "m").value(), a100());
  Cluster slower = a100();
  slower.gpu.rates[static_cast<std::size_t>(Dtype::kFp16)] *= 0.5;
  const ProfileCost costs(ModelFile::open(to_bytes({}), "m").value(), slower, parent);
  const Operator op = linear(4096, PassKind::kForward);
  const double ratio = costs.cost(op).gpu / parent->cost(op).gpu;
  CHECK(ratio == doctest::Approx(2).epsilon(0.02));
  CHECK(costs.cost(op).origin == Origin::kDerived);
  const Operator add = pointwise(OperatorKind::kAdd, {.tokens = 4096, .width = 4096});
  CHECK(costs.cost(add).origin == Origin::kAnalytic);
}

TEST_CASE("a pooled model prices every pass of a linear, and both of its backward one after the other") {
  const Forest forest = step_forest();
  OperatorModelView pooled = linear_model(forest, PassKind::kForward);
  pooled.facts.pooled = true;
  pooled.facts.clocked_share = 0.75;
  const ProfileCost costs(ModelFile::open(to_bytes({pooled}), "m").value(), a100());
  const OperatorCost input = costs.cost(linear(4096, PassKind::kInput));
  const OperatorCost weight = costs.cost(linear(4096, PassKind::kWeight));
  CHECK(input.origin == Origin::kInterpolated);
  CHECK(costs.cost(linear(4096, PassKind::kBackward)).gpu.value ==
        doctest::Approx((input.gpu + weight.gpu).value));
  CHECK(costs.cost(linear(4096, PassKind::kBackward)).origin == Origin::kInterpolated);
  Operator with_bias = linear(4096, PassKind::kForward);
  with_bias.impl = Impl::kFused;
  CHECK(costs.cost(with_bias).origin == Origin::kInterpolated);
  CHECK(costs.power() == nullptr);
}

TEST_CASE("a pooled model prices every pass of a grouped product, apart from that of linears") {
  OperatorModelView linears = linear_model({}, PassKind::kForward);
  linears.residual = {};
  linears.facts.pooled = true;
  OperatorModelView pooled = linears;
  pooled.key.kind = OperatorKind::kGroupedProduct;
  pooled.coefficients[1] = 1.5;
  pooled.facts.size_low = {1, 1, 1, 1, 0, 0};
  pooled.facts.size_high = {100, 100000, 10000, 10000, 0, 0};
  const ProfileCost costs(ModelFile::open(to_bytes({linears, pooled}), "m").value(), a100());
  Operator op = grouped_product({.experts = 8, .m = 32768, .k = 4096, .n = 4096}, {.dtype = Dtype::kFp16});
  const double even = flops(op).value / 312e12;
  for (const Impl impl : {Impl::kAten, Impl::kFused})
    for (const PassKind pass : {PassKind::kForward, PassKind::kInput, PassKind::kWeight}) {
      op.impl = impl;
      op.pass = pass;
      CHECK(costs.cost(op).gpu.value == doctest::Approx(1.5 * even));
      CHECK(costs.cost(op).origin == Origin::kInterpolated);
    }
  op.pass = PassKind::kBackward;
  op.launches = 2;
  CHECK(costs.cost(op).gpu.value == doctest::Approx(2 * 1.5 * even));
  CHECK(costs.cost(op).origin == Origin::kInterpolated);
  CHECK(costs.cost(linear(4096, PassKind::kInput)).gpu.value ==
        doctest::Approx(1.25 * flops(linear(4096, PassKind::kInput)).value / 312e12));
}

TEST_CASE("a grouped product without samples comes from linears") {
  OperatorModelView linears = linear_model({}, PassKind::kForward);
  linears.residual = {};
  linears.facts.pooled = true;
  linears.facts.seconds_per_launch_host = 5e-6;
  const ProfileCost costs(ModelFile::open(to_bytes({linears}), "m").value(), a100());
  const AnalyticCost physics(a100());
  Operator op = grouped_product({.experts = 8, .m = 32768, .k = 4096, .n = 4096},
                                {.impl = Impl::kEager, .dtype = Dtype::kFp16, .launches = 8});
  // A loop: eight linears of 4096 rows, on the GPU and on the host.
  const OperatorCost loop = costs.cost(op), one = costs.cost(linear(4096, PassKind::kForward));
  CHECK(loop.gpu.value == doctest::Approx(8 * one.gpu.value));
  CHECK(loop.host.value == doctest::Approx(8 * 5e-6));
  CHECK(loop.origin == Origin::kDerived);
  CHECK(loop.spread > one.spread);
  // One kernel: the linear of all rows, by what its tiles cost more.
  op.impl = Impl::kAten;
  op.launches = 1;
  Operator all = linear(32768, PassKind::kForward);
  CHECK(costs.cost(op).gpu.value ==
        doctest::Approx(costs.cost(all).gpu.value * (physics.cost(op).gpu / physics.cost(all).gpu)));
  CHECK(costs.cost(op).origin == Origin::kDerived);
}

TEST_CASE("with a power model operators draw watts, and a part derived from it draws them by its own times") {
  const Forest forest = step_forest();
  OperatorModelView model = linear_model(forest, PassKind::kForward);
  model.facts.clocked_share = 0.75;
  const PowerModel power{50, 100e-12, 2e-12, 3, 1410};
  const auto sampled = std::make_shared<const ProfileCost>(ModelFile::open(to_bytes({model}), "m").value(),
                                                           a100(), nullptr, power);
  const Operator op = linear(8192, PassKind::kForward);
  const OperatorCost cost = sampled->cost(op);
  CHECK(cost.clocked_share == 0.75);
  CHECK(cost.clocked_watts ==
        doctest::Approx(drawn_share(cost.gpu) * flops(op).value * 2e-12 / cost.gpu.value));
  CHECK(cost.watts == doctest::Approx(50 + cost.clocked_watts + bytes(op).value * 100e-12 / cost.gpu.value));
  Cluster slower = a100();
  slower.gpu.rates[static_cast<std::size_t>(Dtype::kFp16)] *= 0.5;
  slower.gpu.product_efficiency *= 0.9;  // what power does to it is the governor's business
  const ProfileCost derived(ModelFile::open(to_bytes({}), "m").value(), slower, sampled);
  REQUIRE(derived.power() != nullptr);
  CHECK(*derived.power() == power);
  CHECK(derived.cost(op).gpu / cost.gpu == doctest::Approx(2).epsilon(0.02));
  CHECK(derived.cost(op).clocked_share == 0.75);
  CHECK(derived.cost(op).watts < cost.watts);  // the same energy over twice the time
}

TEST_CASE("causal attention costs the blocks on and below the diagonal of a sampled square") {
  OperatorModelView model;
  model.key = {OperatorKind::kAttention, Impl::kFlash, PassKind::kForward, Dtype::kFp16};
  model.coefficients[1] = 2;
  model.facts.size_high = {100, 100, 100, 100000, 256, 0};
  const ProfileCost costs(ModelFile::open(to_bytes({model}), "m").value(), a100());
  AttentionSizes sizes = {.batch = 1, .heads = 16, .kv_heads = 16, .seq = 1024, .head_dim = 128, .causal = 0};
  Operator op = attention(sizes, {.impl = Impl::kFlash, .dtype = Dtype::kFp16});
  const Seconds square = costs.cost(op).gpu;
  sizes.causal = 1;
  op.set(sizes);
  // 8 x 8 blocks of 128: 36 of 64.
  CHECK(costs.cost(op).gpu / square == doctest::Approx(36.0 / 64));
  CHECK(costs.cost(op).origin == Origin::kDerived);
  // On a part without a faster kernel the framework's choice is the same kernel.
  op.impl = Impl::kSdpa;
  CHECK(costs.cost(op).gpu / square == doctest::Approx(36.0 / 64));
  // A kernel that was not sampled is slower by as much as physics says.
  op.impl = Impl::kTriton;
  CHECK(costs.cost(op).gpu > square * (36.0 / 64));
  CHECK(costs.cost(op).origin == Origin::kDerived);
}

TEST_CASE("a backward that only the parent has is the own forward, by the parent's ratio of the two") {
  // Where the parent's gradients of weights take 1.5 times a forward's FLOPs, so do those of a profile that knows
  // forwards alone, at whatever rate it has them.
  const Forest none;
  const auto model = [&](PassKind pass, double slower) {
    OperatorModelView view = linear_model(none, pass);
    view.coefficients[1] = slower;
    view.key.dtype = Dtype::kBf16;
    return view;
  };
  const auto parent = std::make_shared<const ProfileCost>(
      ModelFile::open(
          to_bytes({model(PassKind::kForward, 1), model(PassKind::kInput, 1), model(PassKind::kWeight, 1.5)}),
          "models.bin")
          .value(),
      a100());
  const ProfileCost child(ModelFile::open(to_bytes({model(PassKind::kForward, 2)}), "models.bin").value(),
                          a100(), parent);
  const auto seconds = [&](PassKind pass) { return child.cost(linear(4096, pass, Dtype::kBf16)).gpu.value; };
  const double forward = seconds(PassKind::kForward);
  CHECK(seconds(PassKind::kInput) == doctest::Approx(forward));
  CHECK(seconds(PassKind::kWeight) == doctest::Approx(1.5 * forward));
  CHECK(child.cost(linear(4096, PassKind::kWeight, Dtype::kBf16)).origin == Origin::kDerived);
}
