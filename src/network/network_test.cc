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
                   .latency = kSimpleStepIntra,
                   .collective_efficiency = 0.8,
                   .p2p_efficiency = 1.0};
  cluster.inter = {.bandwidth = gigabytes_per_second(100),
                   .latency = kSimpleStepInter,
                   .collective_efficiency = 0.8,
                   .p2p_efficiency = 0.5};
  return cluster;
}

double us(const Network& network, CollectiveKind kind, GroupKind group, double megabytes) {
  return network.cost({kind, group, Bytes(megabytes * 1e6)}).seconds.value * 1e6;
}

TEST_CASE("inside a node of 8, rings move (n - 1)/n of the tensor over NVLink") {
  const Cluster cluster = cluster_of(8, 8);
  const Network network(cluster, Mesh{.tp = 8});
  // 8.4 + 7 * 3.4 us; 7/8 of 80 MB at 100 GB/s = 700 us.
  CHECK(us(network, CollectiveKind::kAllGather, GroupKind::kTensor, 80) == doctest::Approx(732.2));
  CHECK(us(network, CollectiveKind::kReduceScatter, GroupKind::kTensor, 80) == doctest::Approx(732.2));
  // 8.4 + 14 * 3.4 us and both phases of a ring.
  CHECK(us(network, CollectiveKind::kAllReduce, GroupKind::kTensor, 80) == doctest::Approx(1456));
  // 7 peers in 1.75 rounds.
  CHECK(us(network, CollectiveKind::kAllToAll, GroupKind::kTensor, 80) == doctest::Approx(714.35));
  // 8.4 + 3 * 4 us; 80 MB at 92 GB/s.
  CHECK(us(network, CollectiveKind::kBroadcast, GroupKind::kTensor, 80) == doctest::Approx(889.9652));
  // 8.4 + 3.4 us; 125 GB/s at an efficiency of 1.
  CHECK(us(network, CollectiveKind::kSendReceive, GroupKind::kTensor, 80) == doctest::Approx(651.8));
}

TEST_CASE("a cost tells the algorithm and protocol it stands for") {
  Cluster cluster = cluster_of(8, 8);
  cluster.intra.nvls_efficiency = 0.6;
  const auto of = [&](const Mesh& mesh, GroupKind group, double bytes) {
    return Network(cluster, mesh).cost({CollectiveKind::kAllReduce, group, Bytes(bytes)});
  };
  // In the switch: 25 us and 8/7 of 70 MB at 0.6 * 125 GB/s.
  const CollectiveCost large = of({.tp = 8}, GroupKind::kTensor, 70e6);
  CHECK(large.algorithm == Algorithm::kNvls);
  CHECK(large.seconds.value * 1e6 == doctest::Approx(25 + 80e6 / 75e3));
  CHECK(of({.tp = 8}, GroupKind::kTensor, 0).protocol == Protocol::kLl);
  CHECK(of({.tp = 8, .dp = 64}, GroupKind::kData, 1e6).algorithm == Algorithm::kTree);
  CHECK(of({.tp = 8, .dp = 64}, GroupKind::kData, 1e9).algorithm == Algorithm::kRing);
}

TEST_CASE("no bytes cost the least latency, over many domains a tree's") {
  const Cluster nodes = cluster_of(8, 8), singles = cluster_of(1, 1);
  // LL by ring: 6.6 + 14 * 0.6.
  const Network network(nodes, Mesh{.tp = 8});
  CHECK(us(network, CollectiveKind::kAllReduce, GroupKind::kTensor, 0) == doctest::Approx(15));
  // Over 16 nodes of one rank, LL by tree: 6.8 + 2 * 4 * 5; by ring 6.6 + 30 * 2.7 = 87.6.
  const Network wide(singles, Mesh{.dp = 16});
  CHECK(us(wide, CollectiveKind::kAllReduce, GroupKind::kData, 0) == doctest::Approx(46.8));
  // Over 2 nodes of eight: 6.8 + 14 * 0.6 + 2 * 5; by ring 6.6 + 26 * 0.6 + 4 * 2.7 = 33.
  const Network full(nodes, Mesh{.dp = 16});
  CHECK(us(full, CollectiveKind::kAllReduce, GroupKind::kData, 0) == doctest::Approx(25.2));
}

TEST_CASE("a tier's latency is its step by the Simple protocol, and scales those of the others") {
  Cluster cluster = cluster_of(8, 8);
  cluster.intra.latency = kSimpleStepIntra * 2;
  cluster.inter.latency = kSimpleStepInter / 2;
  // 2 nodes of eight, LL by tree: 6.8 + 14 * 1.2 + 2 * 2.5.
  const Network full(cluster, Mesh{.dp = 16});
  CHECK(us(full, CollectiveKind::kAllReduce, GroupKind::kData, 0) == doctest::Approx(28.6));
}

TEST_CASE("eight data groups of one rank a node have an eighth of its NICs each") {
  const Cluster cluster = cluster_of(8, 8);
  const Network network(cluster, Mesh{.tp = 8, .dp = 4});
  // 8.4 + 3 * 14 us; 3/4 of 40 MB at 80 / 8 = 10 GB/s = 3000 us.
  CHECK(us(network, CollectiveKind::kAllGather, GroupKind::kData, 40) == doctest::Approx(3050.4));
  CHECK(us(network, CollectiveKind::kAllReduce, GroupKind::kData, 40) == doctest::Approx(6092.4));
}

TEST_CASE("a group that fills its nodes has all their NICs, and its ring crosses each border once") {
  const Cluster cluster = cluster_of(8, 8);
  const Network network(cluster, Mesh{.dp = 16});
  // 15 steps, 2 between nodes: 8.4 + 2 * 14 + 13 * 3.4 = 80.6 us; 15/16 of 80 MB at 80 GB/s = 937.5 us.
  CHECK(us(network, CollectiveKind::kAllGather, GroupKind::kData, 80) == doctest::Approx(1018.1));
}

TEST_CASE("the network is not faster than the NVLink behind it") {
  Cluster cluster = cluster_of(8, 8);
  cluster.inter.bandwidth = gigabytes_per_second(1000);
  const Network network(cluster, Mesh{.dp = 16});
  CHECK(us(network, CollectiveKind::kAllGather, GroupKind::kData, 80) == doctest::Approx(80.6 + 750));
}

TEST_CASE("a rank alone drives its own NIC, not the node's") {
  // Ranks 0 and 15 of a pipeline of 16 exchange embeddings: one NIC of eight, 10 GB/s after efficiency.
  const Cluster cluster = cluster_of(8, 8), shared_nic = cluster_of(8, 1), single = cluster_of(1, 2);
  const Network network(cluster, Mesh{.pp = 16});
  // Two ranks, so a ring of one step each way: 8.4 + 2 * 14 us, 10 MB at 10 GB/s.
  CHECK(us(network, CollectiveKind::kAllReduce, GroupKind::kEmbedding, 10) == doctest::Approx(1036.4));
  // A node with one NIC gives it all: 80 GB/s.
  const Network one_nic(shared_nic, Mesh{.pp = 16});
  CHECK(us(one_nic, CollectiveKind::kAllReduce, GroupKind::kEmbedding, 10) == doctest::Approx(161.4));
  // One GPU with two NICs drives both.
  const Network two_nics(single, Mesh{.pp = 16});
  CHECK(us(two_nics, CollectiveKind::kAllReduce, GroupKind::kEmbedding, 10) == doctest::Approx(161.4));
}

TEST_CASE("send and receive: NVLink's full rate inside, a share of the NICs between nodes") {
  const Cluster eight = cluster_of(8, 8), four = cluster_of(8, 4), one = cluster_of(8, 1);
  // 8 ranks of a node send at once: 100 * 0.5 / 8 = 6.25 GB/s each; 8.4 + 14 us.
  const Network between(eight, Mesh{.tp = 8, .pp = 2});
  CHECK(us(between, CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) == doctest::Approx(4022.4));
  // One NIC of the same total serves them no better.
  const Network one_nic(one, Mesh{.tp = 8, .pp = 2});
  CHECK(us(one_nic, CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) == doctest::Approx(4022.4));
  const Network inside(eight, Mesh{.tp = 4, .pp = 2});
  CHECK(us(inside, CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) == doctest::Approx(211.8));
  // Two of eight ranks cross a node's border, with four NICs to the node: a NIC each, 12.5 GB/s.
  const Network few(four, Mesh{.tp = 2, .pp = 8});
  CHECK(us(few, CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) == doctest::Approx(2022.4));
}

TEST_CASE("a message inside a node takes NVLink, though another boundary of the pipeline crosses") {
  const Cluster cluster = cluster_of(4, 4);
  const Network network(cluster, Mesh{.pp = 8});
  const Bytes bytes(25e6);
  for (std::int64_t stage = 0; stage < 7; ++stage) {
    const CollectiveCost cost = network.send(stage, bytes);
    CHECK(cost.crosses_nodes == (stage == 3));
    // 11.8 us + 25 MB at 125 GB/s, or 22.4 us + 25 MB at one NIC's 25 * 0.5 GB/s.
    CHECK(cost.seconds.value * 1e6 == doctest::Approx(stage == 3 ? 2022.4 : 211.8));
    CHECK(cost.spread == (stage == 3 ? 0.30 : 0.15));
  }
  CHECK(network.send(3, bytes) == network.cost({CollectiveKind::kSendReceive, GroupKind::kPipeline, bytes}));
}

TEST_CASE("in an all-to-all every rank sends its own share out, all through their node's NICs") {
  const Cluster cluster = cluster_of(8, 8);
  const Network network(cluster, Mesh{.cp = 16});
  // 8 ranks send half of their 16 MB out: 64 MB at 80 GB/s = 800 us, NVLink's 7/16 * 16 MB are done by then;
  // 8.4 + 1.875 * 14 + 1.75 * 3.4 us.
  CHECK(us(network, CollectiveKind::kAllToAll, GroupKind::kContext, 16) == doctest::Approx(840.6));
}

TEST_CASE("experts exchange tokens over the nodes that hold them") {
  const Cluster cluster = cluster_of(8, 8);
  // ep = 4 of dp = 16 with tp = etp = 2: ranks 0, 2, 4, 6 of a node. 3 peers, 1.25 rounds; 3/4 of 40 MB by NVLink.
  const Network inside(cluster, Mesh{.tp = 2, .dp = 16, .ep = 4, .etp = 2});
  CHECK(us(inside, CollectiveKind::kAllToAll, GroupKind::kExpert, 40) ==
        doctest::Approx(8.4 + 1.25 * 3.4 + 300));
  // ep = 8: 0, 2, ..., 14, four a node, with half a node's NICs: 4 ranks send half of 40 MB, 80 MB at 40
  // GB/s.
  const Network across(cluster, Mesh{.tp = 2, .dp = 16, .ep = 8, .etp = 2});
  CHECK(us(across, CollectiveKind::kAllToAll, GroupKind::kExpert, 40) ==
        doctest::Approx(8.4 + 1.25 * 3.4 + 1.375 * 14 + 2000));
}

TEST_CASE("a domain of many nodes lets a group out through each") {
  Cluster cluster = cluster_of(4, 4);
  cluster.nvlink_domain = 72;
  const Network network(cluster, Mesh{.tp = 8, .dp = 18});
  // 9 nodes with 80 / 4 = 20 GB/s for each data group = 180 GB/s, so NVLink's 100 GB/s bounds; 17 steps, 2 of
  // them between domains: 8.4 + 28 + 51 us; 17/18 of 90 MB at 100 GB/s = 850 us.
  CHECK(us(network, CollectiveKind::kAllGather, GroupKind::kData, 90) == doctest::Approx(937.4));
}

// Nodes of 8, 4 below a leaf: 400 GB/s of NICs, 100 GB/s up.
Cluster leaves(double oversubscription) {
  Cluster cluster = cluster_of(8, 8);
  cluster.fabric = {.leaf_nodes = 4, .oversubscription = oversubscription};
  return cluster;
}

TEST_CASE("a ring hardly notices an oversubscribed leaf: it leaves each one once") {
  const Cluster full = leaves(1), thin = leaves(4);
  // One group over 8 nodes, 2 leaves: 80 GB/s out of a node, and 100 * 0.8 up.
  for (const Cluster* cluster : {&full, &thin}) {
    const Network one(*cluster, Mesh{.dp = 64});
    // 63 steps, 8 between nodes: 8.4 + 55 * 3.4 + 8 * 14 us; 63/64 of 640 MB at 80 GB/s.
    CHECK(us(one, CollectiveKind::kAllGather, GroupKind::kData, 640) == doctest::Approx(307.4 + 7875));
  }
  // Eight groups of one rank a node want 10 GB/s each, 80 GB/s together: what the leaf has.
  const Network rails(thin, Mesh{.tp = 8, .dp = 8});
  // 8.4 + 7 * 14 us; 7/8 of 8 MB at 10 GB/s.
  CHECK(us(rails, CollectiveKind::kAllGather, GroupKind::kData, 8) == doctest::Approx(106.4 + 700));
}

TEST_CASE("an all-to-all sends above its leaf what a ring does not") {
  // 64 ranks, 32 below each of two leaves: half of every buffer goes up, 16 of 1 MB, at 100 * 0.8 GB/s = 200
  // us. Out of each node go 7/8 of eight buffers, 7 MB at 80 GB/s: 87.5 us.
  const Mesh mesh{.cp = 64};
  const double latency = 8.4 + 1.75 * 3.4 + (1 + 55 / 8.0) * 14;
  const Cluster full = leaves(1), thin = leaves(4);
  CHECK(us(Network(full, mesh), CollectiveKind::kAllToAll, GroupKind::kContext, 1) ==
        doctest::Approx(latency + 87.5));
  CHECK(us(Network(thin, mesh), CollectiveKind::kAllToAll, GroupKind::kContext, 1) ==
        doctest::Approx(latency + 200));
  // Below one leaf nothing changes.
  CHECK(us(Network(thin, {.cp = 32}), CollectiveKind::kAllToAll, GroupKind::kContext, 1) ==
        us(Network(full, {.cp = 32}), CollectiveKind::kAllToAll, GroupKind::kContext, 1));
}

TEST_CASE("messages of all nodes of a leaf to another share its uplinks") {
  const Cluster full = leaves(1), thin = leaves(4);
  // Stages of 32 ranks, a leaf each: 32 messages, 12.5 GB/s each by their NICs, 100 / 32 by the uplinks; half
  // of it after efficiency.
  const Mesh mesh{.tp = 8, .dp = 4, .pp = 2};
  CHECK(us(Network(full, mesh), CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) ==
        doctest::Approx(22.4 + 4000));
  CHECK(us(Network(thin, mesh), CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) ==
        doctest::Approx(22.4 + 16000));
  // Stages of one node, all below one leaf: no uplink.
  CHECK(us(Network(thin, Mesh{.tp = 8, .pp = 4}), CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) ==
        doctest::Approx(22.4 + 4000));
}

TEST_CASE("on rails a message to another local rank goes over the spine, one to the same does not") {
  Cluster rails = leaves(4);
  rails.fabric.rail_optimized = true;
  // Stages of 12 ranks: 0 to 12, whose local rank is 4, on another rail. Node 0 sends 8 messages, the first
  // four ranks of node 1 four more; all 12 go up: 100 / 12 GB/s each, and half of it.
  const Network other(rails, Mesh{.tp = 4, .dp = 3, .pp = 2});
  CHECK(us(other, CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) == doctest::Approx(22.4 + 6000));
  // Stages of 16 ranks, four nodes: 0 to 16 keeps its rail and stays below the leaf.
  const Network same(rails, Mesh{.tp = 8, .dp = 2, .pp = 2});
  CHECK(us(same, CollectiveKind::kSendReceive, GroupKind::kPipeline, 25) == doctest::Approx(22.4 + 4000));
}

TEST_CASE("an assumed rate is less sure than a datasheet's, the network less than NVLink") {
  Cluster cluster = cluster_of(8, 8);
  const Mesh mesh{.tp = 8, .dp = 2};
  const Collective tensor{CollectiveKind::kAllReduce, GroupKind::kTensor, Bytes(1)};
  const Collective data{CollectiveKind::kAllReduce, GroupKind::kData, Bytes(1)};
  CHECK(Network(cluster, mesh).cost(tensor).spread == 0.15);
  CHECK(Network(cluster, mesh).cost(data).spread == 0.30);
  CHECK(Network(cluster, mesh).cost(data).crosses_nodes);
  CHECK(Network(cluster, mesh).cost(data).origin == Origin::kAnalytic);
  cluster.inter.assumed = true;
  CHECK(Network(cluster, mesh).cost(tensor).spread == 0.15);
  CHECK(Network(cluster, mesh).cost(data).spread == 0.45);
}

TEST_CASE("a group of one rank costs nothing") {
  const Cluster cluster = cluster_of(8, 8);
  const Network network(cluster, Mesh{});
  for (int kind = 0; kind < kCollectiveKindCount; ++kind) {
    for (int group = 0; group < kGroupKindCount; ++group) {
      CHECK(network.cost({static_cast<CollectiveKind>(kind), static_cast<GroupKind>(group), gib(1)}) ==
            CollectiveCost{});
    }
  }
}

TEST_CASE("without a switch two of four GPUs have a third of the links") {
  // Links of 100 GB/s between each two of four GPUs: a pair reduces B over one, all four over three. 8.4 us.
  Cluster cluster;
  cluster.gpus_per_node = cluster.nvlink_domain = 4;
  cluster.intra.bandwidth = cluster.inter.bandwidth = gigabytes_per_second(300);
  cluster.intra.pair = gigabytes_per_second(100);
  cluster.intra.collective_efficiency = cluster.intra.p2p_efficiency = 1;
  const Network pair(cluster, Mesh{.tp = 2, .dp = 2});
  CHECK(us(pair, CollectiveKind::kAllReduce, GroupKind::kTensor, 1000) == doctest::Approx(10008.4));
  const Network all(cluster, Mesh{.tp = 4});
  CHECK(us(all, CollectiveKind::kAllReduce, GroupKind::kTensor, 1000) == doctest::Approx(5008.4));
  const Network stages(cluster, Mesh{.pp = 2});
  CHECK(us(stages, CollectiveKind::kSendReceive, GroupKind::kPipeline, 1000) == doctest::Approx(10008.4));
}

TEST_CASE("a collective draws half the card's power and does not follow its clock") {
  Cluster cluster = cluster_of(4, 4);
  cluster.gpu.power_cap_w = 400;
  const CollectiveCost cost =
      Network(cluster, Mesh{.tp = 4}).cost({CollectiveKind::kAllReduce, GroupKind::kTensor, Bytes(1e6)});
  CHECK(cost.watts == 200);
  CHECK(cost.clocked_share == 0);
}

}  // namespace
}  // namespace foretrain
