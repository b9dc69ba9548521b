#include "cost/formats.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "cost/profile_cost.h"
#include "operators/product.h"
#include "operators/quantise.h"
#include "spec/catalog.h"

using namespace foretrain;

namespace {

Cluster cluster_of(const char* gpu) {
  Cluster cluster;
  cluster.name = "test";
  cluster.gpu = Catalog().gpu(gpu).value();
  cluster.host_launch = microseconds(6);
  return cluster;
}

// A product that takes `share` times its FLOPs over the rate, whatever its shape.
OperatorModelView model_of(OperatorKind kind, Dtype dtype, double share) {
  OperatorModelView model;
  model.key = {kind, Impl::kAten, PassKind::kForward, dtype};
  model.coefficients[1] = share;
  model.facts.samples = 100;
  model.facts.spread = 0.03;
  model.facts.spread_outside = 0.1;
  model.facts.size_low = {1, 1, 1, 0, 0, 0};
  model.facts.size_high = {100000, 100000, 100000, 100000, 0, 0};
  return model;
}

ProfileCost profile_of(const std::vector<OperatorModelView>& models, const char* gpu,
                       std::shared_ptr<const ProfileCost> parent = nullptr) {
  return {models.empty() ? ModelFile() : ModelFile::open(to_bytes(models), "m").value(), cluster_of(gpu),
          std::move(parent)};
}

// Large enough that launches and bytes do not show in the analytic times.
Operator product(Dtype dtype, PassKind pass = PassKind::kForward) {
  return linear({.m = 32768, .k = 16384, .n = 32768}, {.pass = pass, .dtype = dtype});
}

}  // namespace

TEST_CASE("a format without samples takes the efficiency of its nearest relative") {
  const ProfileCost costs = profile_of({model_of(OperatorKind::kLinear, Dtype::kFp8, 1.5)}, "h200-141gb-sxm");
  const double sampled = 1.5 * flops(product(Dtype::kFp8)).value / 1979e12;
  CHECK(costs.cost(product(Dtype::kFp8)).gpu.value == doctest::Approx(sampled));
  CHECK(costs.cost(product(Dtype::kFp8)).origin == Origin::kInterpolated);
  // Rows run at the rate and share of tensors; blocks take 1.17 times as long.
  const OperatorCost row = costs.cost(product(Dtype::kFp8Row));
  CHECK(row.gpu.value == doctest::Approx(sampled));
  CHECK(row.origin == Origin::kDerived);
  CHECK(row.spread == doctest::Approx(std::hypot(0.03, format_relatives(Dtype::kFp8Row)[0].spread)));
  const OperatorCost block = costs.cost(product(Dtype::kFp8Block));
  CHECK(block.gpu.value == doctest::Approx(sampled * 1.17).epsilon(0.001));
  CHECK(block.spread >= row.spread);
}

TEST_CASE("where no scaled format was sampled, bf16 lends its efficiency, less surely") {
  const ProfileCost costs =
      profile_of({model_of(OperatorKind::kLinear, Dtype::kBf16, 1.4)}, "h200-141gb-sxm");
  const OperatorCost wide = costs.cost(product(Dtype::kBf16)), narrow = costs.cost(product(Dtype::kFp8));
  // Twice the rate, of which 0.8 of bf16's share is reached.
  CHECK(wide.gpu / narrow.gpu == doctest::Approx(2 * 0.8 * 1979 / (2 * 989.0)).epsilon(0.001));
  CHECK(narrow.origin == Origin::kDerived);
  CHECK(narrow.spread == doctest::Approx(std::hypot(0.03, kFromBf16Spread)));
}

TEST_CASE("a grouped product of eight bits is bf16's by what the linears take") {
  const ProfileCost costs = profile_of({model_of(OperatorKind::kLinear, Dtype::kBf16, 1.2),
                                        model_of(OperatorKind::kLinear, Dtype::kFp8Row, 1.5),
                                        model_of(OperatorKind::kGroupedProduct, Dtype::kBf16, 1.6)},
                                       "h200-141gb-sxm");
  const Operator op = grouped_product({.experts = 8, .m = 16384, .k = 4096, .n = 4096},
                                      {.dtype = Dtype::kFp8Row, .launches = 2});
  const double expected = 1.6 * (flops(op).value / 989e12) * (1.5 / 1979) / (1.2 / 989);
  CHECK(costs.cost(op).gpu.value == doctest::Approx(expected));
  CHECK(costs.cost(op).origin == Origin::kDerived);
}

TEST_CASE("a format that the other GPU lacks is carried over from its fp8") {
  const auto hopper = std::make_shared<ProfileCost>(
      profile_of({model_of(OperatorKind::kLinear, Dtype::kFp8, 1.5)}, "h200-141gb-sxm"));
  const ProfileCost blackwell = profile_of({}, "b200-180gb-sxm", hopper);
  const Operator op = product(Dtype::kMxfp8);
  const OperatorCost cost = blackwell.cost(op);
  const AnalyticCost there(cluster_of("h200-141gb-sxm")), here(cluster_of("b200-180gb-sxm"));
  const double ratio = here.cost(op).gpu / there.cost(product(Dtype::kFp8)).gpu;
  CHECK(cost.gpu.value == doctest::Approx(ratio * 1.5 * flops(op).value / 1979e12).epsilon(0.001));
  CHECK(cost.origin == Origin::kDerived);
}

TEST_CASE("a GPU with samples of bf16 alone multiplies eight bits faster by as much as its parent does") {
  const auto hopper = std::make_shared<ProfileCost>(profile_of(
      {model_of(OperatorKind::kLinear, Dtype::kBf16, 1.2), model_of(OperatorKind::kLinear, Dtype::kFp8, 1.5)},
      "h200-141gb-sxm"));
  const ProfileCost blackwell =
      profile_of({model_of(OperatorKind::kLinear, Dtype::kBf16, 2.0)}, "b200-180gb-sxm", hopper);
  const double wide = 2.0 * flops(product(Dtype::kBf16)).value / 2250e12;
  const double ratio = (1.5 / 1979) / (1.2 / 989);
  CHECK(blackwell.cost(product(Dtype::kFp8)).gpu.value == doctest::Approx(wide * ratio));
  // mxfp8 has the rate and the share of fp8 there.
  CHECK(blackwell.cost(product(Dtype::kMxfp8)).gpu.value == doctest::Approx(wide * ratio).epsilon(0.001));
  CHECK(blackwell.cost(product(Dtype::kFp8)).origin == Origin::kDerived);
}

TEST_CASE("a cast without samples goes by the bytes of one that has them") {
  OperatorModelView model = model_of(OperatorKind::kQuantise, Dtype::kFp8Block, 0);
  model.key.impl = Impl::kFused;
  model.coefficients[1] = 1.25;  // of bytes / bandwidth
  const ProfileCost costs = profile_of({model}, "b200-180gb-sxm");
  const Operator op = quantise({.tokens = 65536, .width = 16384, .copies = 2},
                               {.impl = Impl::kFused, .dtype = Dtype::kNvfp4});
  CHECK(costs.cost(op).gpu.value ==
        doctest::Approx(1.25 * 65536 * 16384 * (2 + 2 * 0.5625) / 8e12).epsilon(0.01));
  CHECK(costs.cost(op).origin == Origin::kDerived);
}

TEST_CASE("a cast of one copy by a known scale says less of two copies, and of scales that are found") {
  OperatorModelView model = model_of(OperatorKind::kQuantise, Dtype::kFp8, 1.25);  // of bytes / bandwidth
  model.facts.size_high[kCopiesSize] = 1;
  const ProfileCost costs = profile_of({model}, "b200-180gb-sxm");
  const auto cost_of = [&](std::int64_t copies, Dtype dtype) {
    return costs.cost(
        quantise({.tokens = 65536, .width = 16384, .copies = copies}, {.impl = Impl::kAten, .dtype = dtype}));
  };
  CHECK(cost_of(1, Dtype::kFp8).origin == Origin::kInterpolated);
  const double seconds = 1.25 * 65536 * 16384 / 8e12;
  CHECK(cost_of(1, Dtype::kFp8).gpu.value == doctest::Approx(3 * seconds));
  CHECK(cost_of(2, Dtype::kFp8).gpu.value == doctest::Approx(4 * seconds).epsilon(0.01));
  const AnalyticCost physics(cluster_of("b200-180gb-sxm"));
  for (const OperatorCost& cost : {cost_of(2, Dtype::kFp8), cost_of(1, Dtype::kFp8Row),
                                   cost_of(1, Dtype::kFp8Block), cost_of(2, Dtype::kMxfp8)}) {
    CHECK(cost.origin == Origin::kDerived);
    // As unsure as physics.
    CHECK(cost.spread ==
          doctest::Approx(physics.cost(quantise({.tokens = 8, .width = 8, .copies = 1})).spread));
  }
}
