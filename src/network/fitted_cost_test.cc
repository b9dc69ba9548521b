// Costs on a cluster whose collectives were fitted from samples.
#include <doctest/doctest.h>

#include "network/network.h"

namespace foretrain {
namespace {

// All-gathers between nodes of 4, one NIC of 25 GB/s a GPU: half of the rate and twice the latency, and a
// layout of 8 nodes with one rank, sampled from 10 to 40 MB.
Cluster fitted_cluster() {
  Cluster cluster;
  cluster.gpus_per_node = cluster.nvlink_domain = cluster.nics = 4;
  cluster.intra = {.bandwidth = gigabytes_per_second(300), .latency = kSimpleStepIntra};
  cluster.inter = {.bandwidth = gigabytes_per_second(100), .latency = kSimpleStepInter};
  cluster.collectives = {{.kind = CollectiveKind::kAllGather,
                          .tier = Tier::kInter,
                          .bandwidth_share = 0.5,
                          .latency_scale = 2,
                          .unseen_error = 0.08,
                          .layouts = {{.ranks = 8,
                                       .ranks_per_node = 1,
                                       .samples = 100,
                                       .error = 0.005,
                                       .spread = 0.01,
                                       .bytes = {10e6, 40e6},
                                       .factor = {1.2, 1.4}}}}};
  return cluster;
}

const Cluster kFitted = fitted_cluster();

CollectiveCost gather(const Mesh& mesh, GroupKind group, double megabytes) {
  return Network(kFitted, mesh).cost({CollectiveKind::kAllGather, group, Bytes(megabytes * 1e6)});
}

// tp = 4 fills a node, so a data group of 8 has a rank in each of 8 nodes, and 12.5 GB/s: 80 us a megabyte.
// Simple: 2 * (8.4 + 7 * 14) us and 7/8 of the bytes.
double base_us(double megabytes) { return 212.8 + 70 * megabytes; }
CollectiveCost sampled(double megabytes) { return gather({.tp = 4, .dp = 8}, GroupKind::kData, megabytes); }

double us(const CollectiveCost& cost) { return cost.seconds.value * 1e6; }

TEST_CASE("a sampled layout follows its factor, over the logarithm of the bytes") {
  // 20 MB lies half way from 10 to 40.
  CHECK(us(sampled(10)) == doctest::Approx(base_us(10) * 1.2));
  CHECK(us(sampled(20)) == doctest::Approx(base_us(20) * 1.3));
  CHECK(us(sampled(40)) == doctest::Approx(base_us(40) * 1.4));
  for (const double size : {10.0, 11.0, 20.0, 40.0}) {
    CHECK(sampled(size).spread == doctest::Approx(0.01));
    CHECK(sampled(size).origin == Origin::kInterpolated);
  }
}

TEST_CASE("above the sampled sizes the factor stays, below it fades to 1 within four times") {
  // The spread grows by half a tenth for twice the size, by two tenths for sixteen times.
  CHECK(us(sampled(80)) == doctest::Approx(base_us(80) * 1.4));
  CHECK(sampled(80).spread == doctest::Approx(0.06));
  CHECK(us(sampled(640)) == doctest::Approx(base_us(640) * 1.4));
  CHECK(sampled(640).spread == doctest::Approx(0.21));
  // At 5 MB half of 0.2 is left.
  CHECK(us(sampled(5)) == doctest::Approx(base_us(5) * 1.1));
  for (const double size : {0.0, 5.0, 9.9, 40.1, 640.0}) CHECK(sampled(size).origin == Origin::kExtrapolated);
}

TEST_CASE("a layout that was not sampled has the fitted rate and latency, and the error of an unseen one") {
  // Four nodes: 2 * (8.4 + 3 * 14) us, 3/4 of 40 MB at 80 us.
  const CollectiveCost cost = gather({.tp = 4, .dp = 4}, GroupKind::kData, 40);
  CHECK(us(cost) == doctest::Approx(100.8 + 2400));
  // A mean absolute error of 0.08 is a standard deviation of 0.08 * sqrt(pi / 2).
  CHECK(cost.spread == doctest::Approx(0.100265));
  CHECK(cost.origin == Origin::kExtrapolated);
  // Eight ranks in two nodes are another layout than eight in eight.
  CHECK(gather({.dp = 8}, GroupKind::kData, 40).spread == doctest::Approx(0.100265));
}

TEST_CASE("a kind of group whose members lie unevenly is not the even layout that was sampled") {
  Cluster cluster = kFitted;
  cluster.gpus_per_node = cluster.nvlink_domain = 8;
  cluster.collectives[0].layouts[0].ranks = 6;
  cluster.collectives[0].layouts[0].ranks_per_node = 3;
  const auto origin = [&](const Mesh& mesh) {
    return Network(cluster, mesh).cost({CollectiveKind::kAllGather, GroupKind::kData, Bytes(20e6)}).origin;
  };
  // Stride 3: {0, 3, 6 | 9, 12, 15}, but {2, 5 | 8, 11, 14 | 17}, and {18, 21 | 24, 27, 30 | 33}.
  CHECK(origin({.tp = 3, .dp = 6}) == Origin::kExtrapolated);
  CHECK(origin({.tp = 3, .dp = 6, .pp = 4}) == Origin::kExtrapolated);
  // Nodes of three: three in each of two, as sampled.
  cluster.gpus_per_node = cluster.nvlink_domain = 3;
  CHECK(origin({.dp = 6}) == Origin::kInterpolated);
}

TEST_CASE("without samples of the tier or the collective the stated figures stand") {
  // Inside a node: 8.4 + 3 * 3.4 us, 3/4 of 80 MB at 300 * 0.8 GB/s.
  const CollectiveCost inside = gather({.tp = 4, .dp = 8}, GroupKind::kTensor, 80);
  CHECK(us(inside) == doctest::Approx(18.6 + 250));
  CHECK(inside.origin == Origin::kAnalytic);
  CHECK(inside.spread == 0.15);
  const CollectiveCost scatter = Network(kFitted, {.tp = 4, .dp = 8})
                                     .cost({CollectiveKind::kReduceScatter, GroupKind::kData, Bytes(20e6)});
  // 8.4 + 7 * 14 us, 7/8 of 20 MB at 20 GB/s.
  CHECK(us(scatter) == doctest::Approx(106.4 + 875));
  CHECK(scatter.origin == Origin::kAnalytic);
}

TEST_CASE("a fitted share inside a node also bounds what crosses it") {
  Cluster cluster = kFitted;
  cluster.collectives.push_back({.kind = CollectiveKind::kAllGather,
                                 .tier = Tier::kIntra,
                                 .bandwidth_share = 0.1,
                                 .unseen_error = 0.2});
  const Network network(cluster, {.dp = 8});
  // Two nodes of four: NVLink's 30 GB/s against the NICs' 100 * 0.5; 2 * (8.4 + 5 * 3.4 + 2 * 14) us, 7/8 of
  // 240 MB. The error is that between nodes.
  const CollectiveCost cost = network.cost({CollectiveKind::kAllGather, GroupKind::kData, Bytes(240e6)});
  CHECK(us(cost) == doctest::Approx(106.8 + 7000));
  CHECK(cost.spread == doctest::Approx(0.100265));
}

TEST_CASE("in place, a gather is the half of a ring all-reduce, and not of one in the switch") {
  Cluster cluster = kFitted;
  cluster.collectives = {{.kind = CollectiveKind::kAllReduce, .tier = Tier::kInter, .bandwidth_share = 0.4}};
  FittedLayout eight{.ranks = 8, .ranks_per_node = 1, .spread = 0.02};
  eight.bytes = {1e8, 1e9};
  eight.factor = {1.5, 1.5};
  cluster.collectives[0].layouts = {eight};
  const Network network(cluster, {.tp = 4, .dp = 8});
  const auto cost = [&](CollectiveKind kind, bool in_place) {
    return network.cost({kind, GroupKind::kData, Bytes(5e8), in_place});
  };
  const CollectiveCost whole = cost(CollectiveKind::kAllReduce, false);
  CHECK(whole.algorithm == Algorithm::kRing);
  // But for the start, of which there is one: 8.4 us times the factor.
  CHECK(us(cost(CollectiveKind::kAllGather, true)) ==
        doctest::Approx((us(whole) - 1.5 * 8.4) / 2 + 1.5 * 8.4));
  CHECK(us(cost(CollectiveKind::kReduceScatter, true)) == us(cost(CollectiveKind::kAllGather, true)));
  CHECK(cost(CollectiveKind::kAllGather, true).origin == Origin::kDerived);
  CHECK(us(cost(CollectiveKind::kAllGather, false)) != us(cost(CollectiveKind::kAllGather, true)));

  Cluster node = kFitted;
  node.gpus_per_node = node.nvlink_domain = node.nics = 8;
  node.intra.nvls_efficiency = 0.9;
  node.collectives = {{.kind = CollectiveKind::kAllReduce, .tier = Tier::kIntra, .bandwidth_share = 0.5}};
  FittedLayout sampled{.ranks = 8, .ranks_per_node = 8, .spread = 0.02};
  sampled.bytes = {1e8, 1e9};
  sampled.factor = {0.5, 0.5};
  node.collectives[0].layouts = {sampled};
  const Network inside(node, {.tp = 8});
  const Collective reduce{CollectiveKind::kAllReduce, GroupKind::kTensor, Bytes(5e8)};
  CHECK(inside.cost(reduce).algorithm == Algorithm::kNvls);
  const CollectiveCost gather =
      inside.cost({CollectiveKind::kAllGather, GroupKind::kTensor, Bytes(5e8), true});
  // A ring at half of NVLink: no faster than that, whatever the switch does.
  CHECK(gather.seconds.value >= 7.0 / 8 * 5e8 / (0.5 * node.intra.bandwidth.value));
}

TEST_CASE("one sampled size is a factor that fades below it") {
  Cluster cluster = kFitted;
  cluster.collectives[0].layouts[0].bytes = {20e6};
  cluster.collectives[0].layouts[0].factor = {1.4};
  const Network network(cluster, {.tp = 4, .dp = 8});
  const auto at = [&](double megabytes) {
    return network.cost({CollectiveKind::kAllGather, GroupKind::kData, Bytes(megabytes * 1e6)});
  };
  CHECK(us(at(20)) == doctest::Approx(base_us(20) * 1.4));
  CHECK(at(20).origin == Origin::kInterpolated);
  CHECK(us(at(10)) == doctest::Approx(base_us(10) * 1.2));
  CHECK(us(at(40)) == doctest::Approx(base_us(40) * 1.4));
}

TEST_CASE("a layout sampled over the nodes of one NVLink domain is one inside it") {
  Cluster rack = kFitted;
  rack.nvlink_domain = 72;
  // 8 ranks in 2 nodes of 4, in a rack of 18 nodes.
  CHECK(placed_alone(8, 4, rack) == PlacedGroup{.ranks = 8, .ranks_per_domain = 8, .fewest_per_domain = 8});
  // 80 ranks in 20 nodes: 18 of one rack and 2 of the next, whose NICs alone carry its part.
  CHECK(
      placed_alone(80, 4, rack) ==
      PlacedGroup{
          .ranks = 80, .domains = 2, .ranks_per_domain = 72, .fewest_per_domain = 8, .nodes_per_domain = 2});
  CHECK(placed_alone(8, 1, kFitted) == PlacedGroup{.ranks = 8, .domains = 8});
  CHECK(placed_alone(4, 4, kFitted) ==
        PlacedGroup{.ranks = 4, .ranks_per_domain = 4, .fewest_per_domain = 4});
}

TEST_CASE("what a GPU's own links were fitted to stands where the cluster has no fit") {
  Cluster cluster;
  cluster.gpus_per_node = cluster.nvlink_domain = 8;
  cluster.intra = {.bandwidth = gigabytes_per_second(100), .latency = kSimpleStepIntra};
  cluster.gpu.collectives = {
      {.kind = CollectiveKind::kAllToAll, .tier = Tier::kIntra, .bandwidth_share = 0.5}};
  const PlacedGroup placed = placed_alone(8, 8, cluster);
  const auto us = [&](CollectiveKind kind) {
    return collective_cost(kind, Bytes(8e9), placed, link_rates(placed, cluster), cluster).seconds.value *
           1e6;
  };
  CHECK(us(CollectiveKind::kAllToAll) == doctest::Approx(8.4 + 1.75 * 3.4 + 7e9 / 50e3));
  cluster.collectives = {{.kind = CollectiveKind::kAllToAll, .tier = Tier::kIntra, .bandwidth_share = 0.25}};
  CHECK(us(CollectiveKind::kAllToAll) == doctest::Approx(8.4 + 1.75 * 3.4 + 7e9 / 25e3));
}

}  // namespace
}  // namespace foretrain
