// What a collective's price takes. Targets: under 200 ns once the groups are placed, under 3 us with placing
// them (a Network made and its first cost), on a cluster with as many fitted collectives as a fit writes.
#include <benchmark/benchmark.h>

#include <cmath>

#include "network/network.h"

namespace foretrain {
namespace {

constexpr int kNcclKinds = 6;

// 12 entries (six collectives, two tiers), 8 layouts each, 32 sizes each.
std::vector<FittedCollective> fitted_collectives() {
  std::vector<FittedCollective> collectives;
  for (int entry = 0; entry < 2 * kNcclKinds; ++entry) {
    FittedCollective fitted{.kind = static_cast<CollectiveKind>(entry / 2),
                            .tier = static_cast<Tier>(entry % 2),
                            .bandwidth_share = 0.8,
                            .unseen_error = 0.1};
    for (int l = 0; l < 8; ++l) {
      const std::int64_t ranks = std::int64_t{2} << l;
      FittedLayout layout{.ranks = ranks, .ranks_per_node = fitted.tier == Tier::kInter ? 1 : ranks};
      for (int knot = 0; knot < 32; ++knot) {
        layout.bytes.push_back(1024 * std::exp2(0.75 * knot));
        layout.factor.push_back(1 + 0.01 * (knot % 5));
      }
      fitted.layouts.push_back(layout);
    }
    collectives.push_back(fitted);
  }
  return collectives;
}

Cluster cluster_of(bool fitted, std::int64_t domain = 8) {
  Cluster cluster;
  cluster.gpus_per_node = 8;
  cluster.nvlink_domain = domain;
  cluster.nics = 8;
  cluster.intra = {
      .bandwidth = gigabytes_per_second(450), .latency = kSimpleStepIntra, .nvls_efficiency = 0.61};
  cluster.inter = {.bandwidth = gigabytes_per_second(400), .latency = kSimpleStepInter};
  cluster.fabric = {.leaf_nodes = 32, .oversubscription = 2};
  if (fitted) cluster.collectives = fitted_collectives();
  return cluster;
}

// All kinds on the tensor, data and expert groups, with sizes that do not repeat soon.
Collective collective(std::int64_t i) {
  constexpr GroupKind kGroups[] = {GroupKind::kTensor, GroupKind::kData, GroupKind::kExpert};
  return {static_cast<CollectiveKind>(i % kNcclKinds), kGroups[i / kNcclKinds % 3],
          Bytes(1e4 + 12345.0 * static_cast<double>(i % 9973))};
}

constexpr Mesh kEven{.tp = 8, .dp = 64, .pp = 8, .ep = 8};
constexpr Mesh kOdd{.tp = 6, .dp = 35, .pp = 11, .ep = 7};

void collective_placed(benchmark::State& state) {
  const Cluster cluster = cluster_of(state.range(0) != 0);
  const Network network(cluster, kEven);
  std::int64_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(network.cost(collective(++i)));
}
BENCHMARK(collective_placed)->ArgName("fitted")->Arg(0)->Arg(1);

void first_collective(benchmark::State& state, const Mesh& mesh, std::int64_t domain) {
  const Cluster cluster = cluster_of(true, domain);
  std::int64_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(Network(cluster, mesh).cost(collective(++i)));
}
BENCHMARK_CAPTURE(first_collective, even, kEven, 8);
BENCHMARK_CAPTURE(first_collective, even_in_racks, kEven, 72);
BENCHMARK_CAPTURE(first_collective, odd, kOdd, 8);
BENCHMARK_CAPTURE(first_collective, odd_in_racks, kOdd, 72);

}  // namespace
}  // namespace foretrain
