#include "network/placement.h"

#include <doctest/doctest.h>

#include <utility>

#include "job/mesh.h"

namespace foretrain {
namespace {

Cluster nodes_of(std::int64_t gpus, std::int64_t domain = 0) {
  Cluster cluster;
  cluster.gpus_per_node = gpus;
  cluster.nvlink_domain = domain == 0 ? gpus : domain;
  return cluster;
}

PlacedGroup place(GroupKind kind, const Mesh& mesh, const Cluster& cluster) {
  return place(mesh.group(kind), mesh.gpus(), cluster);
}

TEST_CASE("tensor fastest, then data: tp=4 fills a node of 4, its data groups have a rank in each of 8") {
  const Mesh mesh{.tp = 4, .dp = 8, .pp = 4};
  const Cluster perlmutter = nodes_of(4);
  CHECK(place(GroupKind::kTensor, mesh, perlmutter) ==
        PlacedGroup{.ranks = 4, .ranks_per_domain = 4, .fewest_per_domain = 4});
  // Ranks 0, 4, ..., 28. Each of a node's four ranks is in a data group of its own.
  CHECK(place(GroupKind::kData, mesh, perlmutter) == PlacedGroup{.ranks = 8, .domains = 8, .sharers = 4});
  // Ranks 0 and 32; all four ranks of a node send at once.
  CHECK(place(GroupKind::kPipeline, mesh, perlmutter) == PlacedGroup{.ranks = 2, .domains = 2, .sharers = 4});
  // 4 ranks in each of 4 nodes, and no other model copy in those nodes.
  CHECK(place(GroupKind::kModel, mesh, perlmutter) ==
        PlacedGroup{.ranks = 16, .domains = 4, .ranks_per_domain = 4, .fewest_per_domain = 4});
}

TEST_CASE("one full node is not inter-node, though pp * tp * dp equals the GPUs of a node") {
  const Mesh mesh{.tp = 2, .dp = 2, .pp = 2};
  for (int kind = 0; kind < kGroupKindCount; ++kind) {
    const PlacedGroup placed = place(static_cast<GroupKind>(kind), mesh, nodes_of(8));
    CHECK_FALSE(placed.crosses_nodes());
    CHECK(placed.sharers == 1);
  }
}

TEST_CASE("neighbouring stages inside a node: only the pair at the node's end crosses") {
  // Stages of 2 ranks, 4 a node: pairs (6, 8) and (7, 9) cross, the six before them do not.
  const Mesh mesh{.tp = 2, .pp = 8};
  CHECK(place(GroupKind::kPipeline, mesh, nodes_of(8)) ==
        PlacedGroup{.ranks = 2, .domains = 2, .sharers = 2});
}

TEST_CASE("a boundary crosses where one of its two stages reaches into the next domain") {
  // Eight stages of one rank on nodes of 4: 3 | 4 alone.
  for (std::int64_t stage = 0; stage < 7; ++stage) CHECK(boundary_crosses(stage, 1, 4) == (stage == 3));
  // Stages of 2 ranks, 4 a node of 8.
  for (std::int64_t stage = 0; stage < 15; ++stage) CHECK(boundary_crosses(stage, 2, 8) == (stage % 4 == 3));
  // A stage of a node or more: all of them.
  for (const std::int64_t ranks : {8, 12, 16, 24})
    for (std::int64_t stage = 0; stage < 7; ++stage) CHECK(boundary_crosses(stage, ranks, 8));
  // Stages of 3 on nodes of 8: ranks 0..2, 3..5, 6..8. Pairs (5, 8), (6, 9) and (7, 10) cross.
  CHECK_FALSE(boundary_crosses(0, 3, 8));
  CHECK(boundary_crosses(1, 3, 8));
  CHECK(boundary_crosses(2, 3, 8));
}

TEST_CASE("dp below gpus_per_node / tp: a data group stays inside its node") {
  // Stage of 4 ranks, two stages a node: {0, 2}, {1, 3} | {4, 6}, {5, 7}. The paper spread them over nodes.
  const Mesh mesh{.tp = 2, .dp = 2, .pp = 4};
  CHECK(place(GroupKind::kData, mesh, nodes_of(8)) ==
        PlacedGroup{.ranks = 2, .ranks_per_domain = 2, .fewest_per_domain = 2});
}

TEST_CASE("a data group with several ranks a node shares its NICs with fewer siblings") {
  // Ranks 0, 2, 4, 6 | 8, ...: four a node, and one sibling (the odd ranks).
  const Mesh mesh{.tp = 2, .dp = 16};
  CHECK(place(GroupKind::kData, mesh, nodes_of(8)) ==
        PlacedGroup{.ranks = 16, .domains = 4, .ranks_per_domain = 4, .fewest_per_domain = 4, .sharers = 2});
}

TEST_CASE("data is data times context: those hold the same weights") {
  const Mesh mesh{.tp = 2, .cp = 4, .dp = 2};
  CHECK(place(GroupKind::kContext, mesh, nodes_of(8)).domains == 1);  // 0, 2, 4, 6
  const PlacedGroup data = place(GroupKind::kData, mesh, nodes_of(8));
  CHECK(data.ranks == 8);
  CHECK(data.domains == 2);
}

TEST_CASE("a group whose size does not divide the node straddles: {0, 4, 8} has two ranks and one") {
  // Node 1 holds ranks 8..15: 8..11 end the four data groups of stage 0, 12..15 begin the four of stage 1.
  const Mesh mesh{.tp = 4, .dp = 3, .pp = 2};
  CHECK(place(GroupKind::kData, mesh, nodes_of(8)) ==
        PlacedGroup{.ranks = 3, .domains = 2, .ranks_per_domain = 2, .fewest_per_domain = 1, .sharers = 8});
}

TEST_CASE("first and last stage: as many pairs share a node as the first stage has ranks in it") {
  // Ranks 0 and 15 alone; the 14 between them keep their NICs to themselves.
  CHECK(place(GroupKind::kEmbedding, Mesh{.pp = 16}, nodes_of(8)) ==
        PlacedGroup{.ranks = 2, .domains = 2, .sharers = 1});
  CHECK(place(GroupKind::kEmbedding, Mesh{.tp = 8, .pp = 2}, nodes_of(8)) ==
        PlacedGroup{.ranks = 2, .domains = 2, .sharers = 8});
}

TEST_CASE("an NVLink domain of several nodes carries a group out through all their NICs") {
  // 72 GPUs in 18 nodes of 4. tp=8, dp=18: a data group has a rank in every second node, 9 a domain.
  const Mesh mesh{.tp = 8, .dp = 18};
  CHECK(place(GroupKind::kTensor, mesh, nodes_of(4, 72)).domains == 1);
  CHECK(place(GroupKind::kData, mesh, nodes_of(4, 72)) == PlacedGroup{.ranks = 18,
                                                                      .domains = 2,
                                                                      .ranks_per_domain = 9,
                                                                      .fewest_per_domain = 9,
                                                                      .nodes_per_domain = 9,
                                                                      .sharers = 4});
}

TEST_CASE("a job over several NVL72 racks takes 64 of each: a group of 64 costs no NIC, one of 128 does") {
  const Cluster racks = nodes_of(4, 72);
  for (const std::int64_t size : {8, 16, 32, 64}) {
    const Mesh mesh{.tp = size, .dp = 256 / size};
    CHECK(place(GroupKind::kTensor, mesh, racks).domains == 1);
  }
  // 64 ranks in 16 nodes of either rack, and no other group beside it.
  CHECK(place(GroupKind::kTensor, Mesh{.tp = 128, .dp = 2}, racks) == PlacedGroup{.ranks = 128,
                                                                                  .domains = 2,
                                                                                  .ranks_per_domain = 64,
                                                                                  .fewest_per_domain = 64,
                                                                                  .nodes_per_domain = 16});
  // Alone in a rack a group may have all 72; two of them fill two.
  CHECK(place(GroupKind::kTensor, Mesh{.tp = 72}, racks).domains == 1);
  CHECK(place(GroupKind::kTensor, Mesh{.tp = 72, .dp = 2}, racks).domains == 1);
  CHECK(domain_of(racks, 128) == 64);
  CHECK(domain_of(racks, 144) == 72);
  CHECK(domain_of(racks, 576) == 64);  // nine times 64, though eight whole racks hold it too
  CHECK(domain_of(racks, 96) == 64);   // the second in part
  CHECK(place(GroupKind::kTensor, Mesh{.tp = 8, .dp = 11}, racks).domains == 1);  // 64 and 24
  CHECK(domain_of(nodes_of(8), 128) == 8);
}

TEST_CASE("groups that a rack could hold straddle two where their size does not divide its share") {
  const Cluster racks = nodes_of(4, 72);
  CHECK(straddles({.size = 16}, 144, racks));      // 64 to 79
  CHECK(!straddles({.size = 8}, 144, racks));      // 72 is nine of them
  CHECK(!straddles({.size = 16}, 128, racks));     // 64 of each rack
  CHECK(!straddles({.size = 128}, 256, racks));    // no rack holds it
  CHECK(!straddles({.size = 16}, 72, racks));      // one rack
  CHECK(straddles({.size = 3}, 24, nodes_of(8)));  // 6, 7 and 8
}

TEST_CASE("shard groups are neighbours, replicas lie a group apart") {
  // 32 data-parallel ranks on nodes of 8, a copy on each node: replicas meet with one rank a node, eight
  // groups.
  const Mesh mesh{.dp = 32, .shard = 8};
  CHECK(place(GroupKind::kShard, mesh, nodes_of(8)) ==
        PlacedGroup{.ranks = 8, .ranks_per_domain = 8, .fewest_per_domain = 8});
  CHECK(place(GroupKind::kReplica, mesh, nodes_of(8)) == PlacedGroup{.ranks = 4, .domains = 4, .sharers = 8});
  // Without a size all of them share one copy.
  CHECK(place(GroupKind::kShard, Mesh{.dp = 32}, nodes_of(8)) ==
        place(GroupKind::kData, Mesh{.dp = 32}, nodes_of(8)));
  CHECK(place(GroupKind::kReplica, Mesh{.dp = 32}, nodes_of(8)) == PlacedGroup{});
}

TEST_CASE("experts spread over the ranks of a stage, those that share one beside each other: stride etp") {
  // Stage of 2 * 2 * 8 = 32 ranks: 0, 2, 4, 6 hold the experts of one copy, all in a node of 8.
  CHECK(place(GroupKind::kExpert, Mesh{.tp = 2, .cp = 2, .dp = 8, .pp = 2, .ep = 4, .etp = 2}, nodes_of(8)) ==
        PlacedGroup{.ranks = 4, .ranks_per_domain = 4, .fewest_per_domain = 4});
  // ep = 16, all of data times context: 0, 2, ..., 30, four a node, with the odd ranks beside them.
  CHECK(
      place(GroupKind::kExpert, Mesh{.tp = 2, .cp = 2, .dp = 8, .pp = 2, .ep = 16, .etp = 2}, nodes_of(8)) ==
      PlacedGroup{.ranks = 16, .domains = 4, .ranks_per_domain = 4, .fewest_per_domain = 4, .sharers = 2});
  // tp = 8 fills a node: a rank in each of four nodes, eight groups share their NICs.
  CHECK(place(GroupKind::kExpert, Mesh{.tp = 8, .dp = 8, .ep = 4, .etp = 8}, nodes_of(8)) ==
        PlacedGroup{.ranks = 4, .domains = 4, .sharers = 8});
}

TEST_CASE("experts that no ranks share lie side by side, stride 1") {
  // 16 ranks side by side in two nodes.
  CHECK(place(GroupKind::kExpert, Mesh{.tp = 8, .dp = 4, .ep = 16}, nodes_of(8)) ==
        PlacedGroup{.ranks = 16, .domains = 2, .ranks_per_domain = 8, .fewest_per_domain = 8});
  // In a rack of 72 they stay inside, though 72 is no multiple of 16: 64..79 does not.
  const PlacedGroup rack = place(GroupKind::kExpert, Mesh{.tp = 8, .dp = 18, .ep = 16}, nodes_of(4, 72));
  CHECK(rack ==
        PlacedGroup{
            .ranks = 16, .domains = 2, .ranks_per_domain = 8, .fewest_per_domain = 8, .nodes_per_domain = 2});
}

Cluster leaves_of(std::int64_t gpus, std::int64_t nodes, bool rails = false) {
  Cluster cluster = nodes_of(gpus);
  cluster.fabric = {.leaf_nodes = nodes, .oversubscription = 4, .rail_optimized = rails};
  return cluster;
}

TEST_CASE("above a leaf a ring counts once, however many nodes it has below") {
  const Mesh mesh{.tp = 8, .dp = 8, .pp = 2};
  // Stage of 64 ranks, 8 nodes, two leaves of 4. Eight data rings of a stage leave each leaf.
  const Cluster cluster = leaves_of(8, 4);
  CHECK(place(GroupKind::kData, mesh, cluster).sharers == 8);
  CHECK(place(GroupKind::kData, mesh, cluster).leaf_sharers == 8);
  // 32 messages of a leaf's 32 ranks.
  CHECK(place(GroupKind::kPipeline, mesh, cluster).sharers == 8);
  CHECK(place(GroupKind::kPipeline, mesh, cluster).leaf_sharers == 32);
  // NVLink needs no leaf.
  CHECK(place(GroupKind::kTensor, mesh, cluster).leaf_sharers == 0);
  // Nor has anything below one leaf of 16 nodes a link above it.
  for (const GroupKind kind : {GroupKind::kData, GroupKind::kPipeline, GroupKind::kModel})
    CHECK(place(kind, mesh, leaves_of(8, 16)).leaf_sharers == 0);
}

TEST_CASE("only the last stage of a leaf sends above it") {
  // Stages of 8, one node each, four a leaf: eight messages from ranks 24..31 to 32..39.
  CHECK(place(GroupKind::kPipeline, Mesh{.tp = 8, .pp = 8}, leaves_of(8, 4)).leaf_sharers == 8);
}

TEST_CASE("on rails a message between different local ranks goes over the spine, below one leaf too") {
  const Cluster rails = leaves_of(8, 4, true), flat = leaves_of(8, 4);
  // Stages of 12: rank 0 sends to rank 12, which is the fifth of its node. All 12 go up.
  const Mesh odd{.tp = 4, .dp = 3, .pp = 2};
  CHECK(place(GroupKind::kPipeline, odd, rails).leaf_sharers == 12);
  CHECK(place(GroupKind::kPipeline, odd, flat).leaf_sharers == 0);
  // Stages of 16: rank 0 sends to rank 16, the first of its node.
  CHECK(place(GroupKind::kPipeline, Mesh{.tp = 8, .dp = 2, .pp = 2}, rails).leaf_sharers == 0);
  // Stages of 4, pp = 3: neighbours cross nodes from 4..7 to 8..11, the first to the last rank of a node. The
  // first and the last stage are 8 apart, on the same rails.
  const Mesh three{.tp = 4, .pp = 3};
  CHECK(place(GroupKind::kPipeline, three, rails).leaf_sharers == 4);
  CHECK(place(GroupKind::kEmbedding, three, rails).leaf_sharers == 0);
  // Rings keep to their rails by NVLink.
  CHECK(place(GroupKind::kData, odd, rails).leaf_sharers == 0);
}

TEST_CASE("a leaf holds whole NVLink domains") {
  // Racks of 18 nodes: 4 or 18 a leaf are one rack, 20 are two.
  Cluster cluster = nodes_of(4, 72);
  for (const auto& [nodes, whole] : {std::pair{0, 0}, {4, 18}, {18, 18}, {20, 36}}) {
    cluster.fabric.leaf_nodes = nodes;
    CHECK(nodes_of_a_leaf(cluster) == whole);
  }
}

TEST_CASE("without a second rank there is no group") {
  for (int kind = 0; kind < kGroupKindCount; ++kind) {
    CHECK(place(static_cast<GroupKind>(kind), Mesh{}, nodes_of(1)) == PlacedGroup{});
  }
  CHECK(place(GroupKind::kPipeline, Mesh{.tp = 8, .dp = 8}, nodes_of(8)) == PlacedGroup{});
  CHECK(place(GroupKind::kEmbedding, Mesh{.tp = 8, .dp = 8}, nodes_of(8)) == PlacedGroup{});
}

}  // namespace
}  // namespace foretrain
