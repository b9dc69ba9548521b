#include "network/network.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

// Round figures, so that the expected times can be worked out by hand: NVLink 100 GB/s a GPU after
// efficiency, 8 NICs of 10 GB/s a node.
Cluster cluster_of(std::int64_t gpus_per_node, std::int64_t nics) {
  Cluster cluster;
  cluster.gpus_per_node = gpus_per_node;
  cluster.nvlink_domain = gpus_per_node;
  cluster.nics = nics;
  cluster.intra = {.bandwidth = gigabytes_per_second(125),
                   .latency = microseconds(2),
                   .collective_efficiency = 0.8,
                   .p2p_efficiency = 1.0};
  cluster.inter = {.bandwidth = gigabytes_per_second(100),
                   .latency = microseconds(10),
                   .collective_efficiency = 0.8,
                   .p2p_efficiency = 0.5};
  return cluster;
}

double us(const Network& network, CollectiveKind kind, GroupKind group, double megabytes) {
  return network.cost({kind, group, Bytes(megabytes * 1e6)}).seconds.value * 1e6;
}

TEST_CASE("inside a node of 8, rings move (n - 1)/n of the tensor over NVLink") {
  const Network network(cluster_of(8, 8), Layout{.tp = 8});
  // 7 hops of 2 us; 7/8 of 80 MB at 100 GB/s = 700 us.
  CHECK(us(network, CollectiveKind::kAllGather, GroupKind::kTensor, 80) == doctest::Approx(714));
  CHECK(us(network, CollectiveKind::kReduceScatter, GroupKind::kTensor, 80) == doctest::Approx(714));
  CHECK(us(network, CollectiveKind::kAllToAll, GroupKind::kTensor, 80) == doctest::Approx(714));
  // Both phases of a ring, 1428 us; a tree would take 12 + 1600.
  CHECK(us(network, CollectiveKind::kAllReduce, GroupKind::kTensor, 80) == doctest::Approx(1428));
  CHECK(us(network, CollectiveKind::kBroadcast, GroupKind::kTensor, 80) == doctest::Approx(806));
  // 125 GB/s at an efficiency of 1.
  CHECK(us(network, CollectiveKind::kSendReceive, GroupKind::kTensor, 80) == doctest::Approx(642));
}

TEST_CASE("a small all-reduce takes the tree: 2 log2(8) hops instead of 14") {
  const Network network(cluster_of(8, 8), Layout{.tp = 8});
  CHECK(us(network, CollectiveKind::kAllReduce, GroupKind::kTensor, 0) == doctest::Approx(12));
  // Over 16 nodes of one rank: 2 * 4 * 10 us.
  const Network wide(cluster_of(1, 1), Layout{.dp = 16});
  CHECK(us(wide, CollectiveKind::kAllReduce, GroupKind::kData, 0) == doctest::Approx(80));
  // Over 2 nodes of eight: up and down a chain of 7 hops at 2 us and one hop at 10 us.
  const Network full(cluster_of(8, 8), Layout{.dp = 16});
  CHECK(us(full, CollectiveKind::kAllReduce, GroupKind::kData, 0) == doctest::Approx(48));
}

TEST_CASE("eight data groups of one rank a node have an eighth of its NICs each") {
  const Network network(cluster_of(8, 8), Layout{.tp = 8, .dp = 4});
  // 3 hops of 10 us; 3/4 of 40 MB at 80 / 8 = 10 GB/s = 3000 us.
  CHECK(us(network, CollectiveKind::kAllGather, GroupKind::kData, 40) == doctest::Approx(3030));
  CHECK(us(network, CollectiveKind::kAllReduce, GroupKind::kData, 40) == doctest::Approx(6060));
}

TEST_CASE("a group that fills its nodes has all their NICs, and its ring crosses each border once") {
  const Network network(cluster_of(8, 8), Layout{.dp = 16});
  // 15 hops, 2 between nodes: 2 * 10 + 13 * 2 = 46 us; 15/16 of 80 MB at 80 GB/s = 937.5 us.
  CHECK(us(network, CollectiveKind::kAllGather, GroupKind::kData, 80) == doctest::Approx(983.5));
}

TEST_CASE("the network is not faster than the NVLink behind it") {
  Cluster cluster = cluster_of(8, 8);
  cluster.inter.bandwidth = gigabytes_per_second(1000);
  const Network network(cluster, Layout{.dp = 16});
  CHECK(us(network, CollectiveKind::kAllGather, GroupKind::kData, 80) == doctest::Approx(46 + 750));
}

TEST_CASE("a rank alone drives its own NIC, not the node's") {
  // Ranks 0 and 15 of a pipeline of 16 exchange embeddings: one NIC of eight, 10 GB/s after efficiency.
  const Network network(cluster_of(8, 8), Layout{.pp = 16});
  // Two ranks, so a ring of one hop each way: 2 * (10 us + half of 10 MB at 10 GB/s).
  CHECK(us(network, CollectiveKind::kAllReduce, GroupKind::kEmbedding, 10) == doctest::Approx(1020));
  // A node with one NIC gives it all: 80 GB/s.
  const Network one_nic(cluster_of(8, 1), Layout{.pp = 16});
  CHECK(us(one_nic, CollectiveKind::kAllReduce, GroupKind::kEmbedding, 10) == doctest::Approx(145));
  // One GPU with two NICs drives both.
  const Network two_nics(cluster_of(1, 2), Layout{.pp = 16});
  CHECK(us(two_nics, CollectiveKind::kAllReduce, GroupKind::kEmbedding, 10) == doctest::Approx(145));
}

TEST_CASE("send and receive: NVLink's full rate inside, a share of the NICs between nodes") {
  // 8 ranks of a node send at once: 100 * 0.5 / 8 = 6.25 GB/s each.
  const Network between(cluster_of(8, 8), Layout{.tp = 8, .pp = 2});
  CHECK(us(between, CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) == doctest::Approx(4010));
  // One NIC of the same total serves them no better.
  const Network one_nic(cluster_of(8, 1), Layout{.tp = 8, .pp = 2});
  CHECK(us(one_nic, CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) == doctest::Approx(4010));
  const Network inside(cluster_of(8, 8), Layout{.tp = 4, .pp = 2});
  CHECK(us(inside, CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) == doctest::Approx(202));
  // Two of eight ranks cross a node's border, with four NICs to the node: a NIC each, 12.5 GB/s.
  const Network few(cluster_of(8, 4), Layout{.tp = 2, .pp = 8});
  CHECK(us(few, CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) == doctest::Approx(2010));
}

TEST_CASE("a message inside a node takes NVLink, though another boundary of the pipeline crosses") {
  const Network network(cluster_of(4, 4), Layout{.pp = 8});
  const Bytes bytes(25e6);
  for (std::int64_t stage = 0; stage < 7; ++stage) {
    const CollectiveCost cost = network.send(stage, bytes);
    CHECK(cost.crosses_nodes == (stage == 3));
    // 2 us + 25 MB at 125 GB/s, or 10 us + 25 MB at one NIC's 25 * 0.5 GB/s.
    CHECK(cost.seconds.value * 1e6 == doctest::Approx(stage == 3 ? 2010 : 202));
    CHECK(cost.spread == (stage == 3 ? 0.30 : 0.15));
  }
  CHECK(network.send(3, bytes) == network.cost({CollectiveKind::kSendReceive, GroupKind::kPipeline, bytes}));
}

TEST_CASE("in an all-to-all every rank sends its own share out, all through their node's NICs") {
  const Network network(cluster_of(8, 8), Layout{.cp = 16});
  // 8 ranks send half of their 16 MB out: 64 MB at 80 GB/s = 800 us, NVLink's 7/16 * 16 MB are done by then;
  // 8 messages at 10 us, 7 at 2 us.
  CHECK(us(network, CollectiveKind::kAllToAll, GroupKind::kContext, 16) == doctest::Approx(894));
}

TEST_CASE("a domain of many nodes lets a group out through each") {
  Cluster cluster = cluster_of(4, 4);
  cluster.nvlink_domain = 72;
  const Network network(cluster, Layout{.tp = 8, .dp = 18});
  // 9 nodes with 80 / 4 = 20 GB/s for each data group = 180 GB/s, so NVLink's 100 GB/s bounds; 17 hops, 2 of
  // them between domains: 20 + 30 us; 17/18 of 90 MB at 100 GB/s = 850 us.
  CHECK(us(network, CollectiveKind::kAllGather, GroupKind::kData, 90) == doctest::Approx(900));
}

TEST_CASE("an assumed rate is less sure than a datasheet's, the network less than NVLink") {
  Cluster cluster = cluster_of(8, 8);
  const Layout layout{.tp = 8, .dp = 2};
  const Collective tensor{CollectiveKind::kAllReduce, GroupKind::kTensor, Bytes(1)};
  const Collective data{CollectiveKind::kAllReduce, GroupKind::kData, Bytes(1)};
  CHECK(Network(cluster, layout).cost(tensor).spread == 0.15);
  CHECK(Network(cluster, layout).cost(data).spread == 0.30);
  CHECK(Network(cluster, layout).cost(data).crosses_nodes);
  cluster.inter.assumed = true;
  CHECK(Network(cluster, layout).cost(tensor).spread == 0.15);
  CHECK(Network(cluster, layout).cost(data).spread == 0.45);
}

TEST_CASE("a group of one rank costs nothing") {
  const Network network(cluster_of(8, 8), Layout{});
  for (int kind = 0; kind < kCollectiveKindCount; ++kind) {
    for (int group = 0; group < kGroupKindCount; ++group) {
      CHECK(network.cost({static_cast<CollectiveKind>(kind), static_cast<GroupKind>(group), gib(1)}) ==
            CollectiveCost{});
    }
  }
}

}  // namespace
}  // namespace foretrain

namespace foretrain {
TEST_CASE("without a switch two of four GPUs have a third of the links") {
  // Links of 100 GB/s between each two of four GPUs: a pair reduces B over one, all four over three.
  Cluster cluster;
  cluster.gpus_per_node = cluster.nvlink_domain = 4;
  cluster.intra.bandwidth = cluster.inter.bandwidth = gigabytes_per_second(300);
  cluster.intra.pair = gigabytes_per_second(100);
  cluster.intra.collective_efficiency = cluster.intra.p2p_efficiency = 1;
  const Bytes gigabyte(1e9);
  const Network pair(cluster, Layout{2, 1, 2, 1});
  CHECK(pair.cost({CollectiveKind::kAllReduce, GroupKind::kTensor, gigabyte}).seconds.value ==
        doctest::Approx(2.0 * 1 / 2 / 100));
  const Network all(cluster, Layout{4, 1, 1, 1});
  CHECK(all.cost({CollectiveKind::kAllReduce, GroupKind::kTensor, gigabyte}).seconds.value ==
        doctest::Approx(2.0 * 3 / 4 / 300));
  const Network stages(cluster, Layout{1, 1, 1, 2});
  CHECK(stages.cost({CollectiveKind::kSendReceive, GroupKind::kPipeline, gigabyte}).seconds.value ==
        doctest::Approx(0.01));
}

TEST_CASE("a collective draws half the card's power and does not follow its clock") {
  Cluster cluster;
  cluster.gpus_per_node = cluster.nvlink_domain = 4;
  cluster.intra.bandwidth = cluster.inter.bandwidth = gigabytes_per_second(300);
  cluster.gpu.power_cap_w = 400;
  const CollectiveCost cost =
      Network(cluster, Layout{4, 1, 1, 1}).cost({CollectiveKind::kAllReduce, GroupKind::kTensor, Bytes(1e6)});
  CHECK(cost.watts == 200);
  CHECK(cost.clocked_share == 0);
}

}  // namespace foretrain
