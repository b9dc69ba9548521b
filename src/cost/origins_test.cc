// Who knows more is surer: over all profiles that are built in, and operators of every family.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "cost/profile_store.h"
#include "operators/attention.h"
#include "operators/operator_text.h"
#include "operators/pointwise.h"
#include "operators/product.h"

using namespace foretrain;

namespace {

std::vector<Operator> some_of_each_family() {
  std::vector<Operator> list;
  for (const std::int64_t n : {1024, 4096, 28672})
    for (const PassKind pass : {PassKind::kForward, PassKind::kInput, PassKind::kWeight, PassKind::kBackward})
      list.push_back(linear({.m = 8192, .k = 4096, .n = n}, {.pass = pass}));
  for (const PassKind pass : {PassKind::kForward, PassKind::kBackward}) {
    for (const Impl impl : {Impl::kSdpa, Impl::kFlash}) {
      const Variant way{.impl = impl, .pass = pass};
      list.push_back(attention(
          {.batch = 1, .heads = 32, .kv_heads = 8, .seq = 8192, .head_dim = 128, .causal = 1}, way));
      list.push_back(
          latent_attention({.batch = 1, .heads = 64, .seq = 4096, .qk_dim = 192, .v_dim = 128}, way));
    }
    for (const OperatorKind kind : {OperatorKind::kRmsnorm, OperatorKind::kLayernorm, OperatorKind::kRope,
                                    OperatorKind::kSwiglu, OperatorKind::kGelu, OperatorKind::kAdd})
      for (const Impl impl : {Impl::kFused, Impl::kAten, Impl::kEager})
        list.push_back(pointwise(kind, {.tokens = 8192, .width = 4096}, {.impl = impl, .pass = pass}));
  }
  for (const PassKind pass : {PassKind::kForward, PassKind::kInput, PassKind::kWeight})
    list.push_back(grouped_product({.experts = 8, .m = 32768, .k = 4096, .n = 2048}, {.pass = pass}));
  return list;
}

Cluster cluster_of(const Gpu& gpu) {
  Cluster cluster;
  cluster.name = "one";
  cluster.gpu = gpu;
  return cluster;
}

}  // namespace

TEST_CASE("analytic is never surer than derived, derived never than the samples that it comes from") {
  const ProfileStore store;
  std::size_t derived = 0, compared = 0;
  for (const std::string& name : store.names()) {
    const LoadedProfile profile = store.load(name).value();
    const Cluster here = cluster_of(Catalog().gpu(profile.info.gpu).value());
    const auto costs = store.costs_for(here, name).value().costs;
    std::shared_ptr<const CostSource> parent;
    if (!profile.info.derive_from.empty()) {
      const Gpu gpu = Catalog().gpu(store.load(profile.parent()).value().info.gpu).value();
      parent = store.costs_for(cluster_of(gpu), profile.parent()).value().costs;
    }
    const AnalyticCost physics(here);
    for (const Operator& op : some_of_each_family()) {
      CAPTURE(name);
      CAPTURE(sizes_text(op));
      const OperatorCost cost = costs->cost(op), analytic = physics.cost(op);
      if (cost.origin != Origin::kDerived) continue;
      CHECK(cost.spread <= analytic.spread);
      ++derived;
      if (parent == nullptr) continue;
      const OperatorCost there = parent->cost(op);
      if (there.origin >= Origin::kDerived) continue;
      CHECK(cost.spread >= std::min(there.spread, analytic.spread));
      ++compared;
    }
  }
  CHECK(derived > 100);
  CHECK(compared > 100);
}

TEST_CASE("every profile has a time for every format that its GPU multiplies, whatever its parents lack") {
  const ProfileStore store;
  for (const std::string& name : store.names()) {
    const Cluster here = cluster_of(Catalog().gpu(store.load(name).value().info.gpu).value());
    const auto costs = store.costs_for(here, name).value().costs;
    for (int d = 0; d < kDtypeCount; ++d)
      for (const PassKind pass :
           {PassKind::kForward, PassKind::kInput, PassKind::kWeight, PassKind::kBackward}) {
        const Variant way{.pass = pass, .dtype = static_cast<Dtype>(d)};
        if (here.gpu.rate(way.dtype).value <= 0) continue;
        CAPTURE(name);
        CAPTURE(foretrain::name(way.dtype));
        for (const Operator& op : {linear({.m = 8192, .k = 4096, .n = 14336}, way),
                                   grouped_product({.experts = 8, .m = 32768, .k = 4096, .n = 2048}, way)}) {
          const OperatorCost cost = costs->cost(op);
          CHECK(std::isfinite(cost.gpu.value));
          CHECK(cost.gpu > Seconds(0));
          CHECK(std::isfinite(cost.spread));
        }
      }
  }
}

TEST_CASE("a backward of products is its two parts, on every profile and in every format") {
  const ProfileStore store;
  for (const std::string& name : store.names()) {
    const Gpu gpu = Catalog().gpu(store.load(name)->info.gpu).value();
    const auto costs = store.costs_for(cluster_of(gpu), name)->costs;
    for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp8, Dtype::kFp8Block, Dtype::kMxfp8}) {
      if (gpu.rate(dtype).value <= 0) continue;
      const auto seconds = [&](auto sizes, auto product, PassKind pass) {
        return costs->cost(product(sizes, Variant{.pass = pass, .dtype = dtype})).gpu.value;
      };
      const auto check = [&](auto sizes, auto product) {
        INFO(name, " ", foretrain::name(dtype));
        const double parts =
            seconds(sizes, product, PassKind::kInput) + seconds(sizes, product, PassKind::kWeight);
        CHECK(seconds(sizes, product, PassKind::kBackward) == doctest::Approx(parts).epsilon(0.02));
      };
      check(LinearSizes{.m = 8192, .k = 4096, .n = 4096}, linear);
      check(GroupedSizes{.experts = 16, .m = 65536, .k = 2048, .n = 768}, grouped_product);
    }
  }
}
