#include "network/algorithm.h"

#include <doctest/doctest.h>

#include <array>

namespace foretrain {
namespace {

// A rank sends 100 GB/s inside its domain, a group 10 GB/s out of one: 10 and 100 us a megabyte.
GroupLinks links_of(std::int64_t domains, std::int64_t members) {
  return {.placed = {.ranks = domains * members,
                     .domains = domains,
                     .ranks_per_domain = members,
                     .fewest_per_domain = members},
          .inside = gigabytes_per_second(100),
          .across = gigabytes_per_second(10)};
}

Bytes megabytes(double n) { return Bytes(n * 1e6); }
double us(const TimedAlgorithm& timed) { return timed.seconds.value * 1e6; }

struct Expected {
  double megabytes;
  Algorithm algorithm;
  Protocol protocol;
  double us;
};

void check(CollectiveKind kind, const GroupLinks& links, const Expected& expected) {
  CAPTURE(expected.megabytes);
  const TimedAlgorithm timed = fastest(kind, megabytes(expected.megabytes), links);
  CHECK(name(timed.algorithm) == name(expected.algorithm));
  CHECK(name(timed.protocol) == name(expected.protocol));
  CHECK(us(timed) == doctest::Approx(expected.us));
}

TEST_CASE("an all-reduce of 8 in a node: LL, then LL128, then Simple") {
  // B in megabytes; 14 steps; a ring moves 2 * 7/8 B at 10 us, a tree 2 B.
  //   ring LL       6.6 + 14 * 0.6  = 15    + 17.5 * 4 B              = 15   + 70 B
  //   tree LL128    14  + 14 * 1.25 = 31.5  + 20 / (0.92 * 7/9) B     = 31.5 + 27.950 B    from 0.392
  //   ring LL128    14  + 14 * 1.9  = 40.6  + 17.5 / 0.92 B           = 40.6 + 19.022 B    from 1.019
  //   ring Simple   8.4 + 14 * 3.4  = 56    + 17.5 B                                       from 10.12
  const GroupLinks node = links_of(1, 8);
  for (const Expected& expected : {Expected{0, Algorithm::kRing, Protocol::kLl, 15},
                                   Expected{0.39, Algorithm::kRing, Protocol::kLl, 15 + 70 * 0.39},
                                   Expected{0.40, Algorithm::kTree, Protocol::kLl128, 31.5 + 27.9503 * 0.40},
                                   Expected{1.01, Algorithm::kTree, Protocol::kLl128, 31.5 + 27.9503 * 1.01},
                                   Expected{1.03, Algorithm::kRing, Protocol::kLl128, 40.6 + 19.0217 * 1.03},
                                   Expected{10.1, Algorithm::kRing, Protocol::kLl128, 40.6 + 19.0217 * 10.1},
                                   Expected{10.2, Algorithm::kRing, Protocol::kSimple, 56 + 17.5 * 10.2},
                                   Expected{800, Algorithm::kRing, Protocol::kSimple, 56 + 14000}})
    check(CollectiveKind::kAllReduce, node, expected);
}

TEST_CASE("over 64 nodes a tree's 12 steps beat a ring's 126, until a ring's bytes count more") {
  //   tree LL       6.8 + 12 * 5     = 66.8    + 200 * 3.8 / 0.92 B     = 66.8 + 826.09 B
  //   tree LL128    14  + 12 * 8.5   = 116     + 200 / (0.92 * 15/16) B = 116  + 231.88 B     from 0.083
  //   tree Simple   8.4 + 12 * 14    = 176.4   + 200 / 0.92 B           = 176.4 + 217.39 B    from 4.168
  //   ring Simple   8.4 + 126 * 14   = 1772.4  + 200 * 63/64 B          = 1772.4 + 196.875 B  from 77.8
  const GroupLinks many = links_of(64, 1);
  for (const Expected& expected : {Expected{0, Algorithm::kTree, Protocol::kLl, 66.8},
                                   Expected{0.08, Algorithm::kTree, Protocol::kLl, 66.8 + 826.087 * 0.08},
                                   Expected{0.09, Algorithm::kTree, Protocol::kLl128, 116 + 231.884 * 0.09},
                                   Expected{4.1, Algorithm::kTree, Protocol::kLl128, 116 + 231.884 * 4.1},
                                   Expected{4.2, Algorithm::kTree, Protocol::kSimple, 176.4 + 217.391 * 4.2},
                                   Expected{77, Algorithm::kTree, Protocol::kSimple, 176.4 + 217.391 * 77},
                                   Expected{79, Algorithm::kRing, Protocol::kSimple, 1772.4 + 196.875 * 79}})
    check(CollectiveKind::kAllReduce, many, expected);
}

TEST_CASE("two ranks are a ring of one step each way, whose bytes a tree would double") {
  //   in a node       LL 6.6 + 2 * 0.6,   LL128 14 + 2 * 1.9 = 17.8,  Simple 8.4 + 2 * 3.4 = 15.2
  //   between nodes   LL 6.6 + 2 * 2.7,   LL128 14 + 2 * 4 = 22,      Simple 8.4 + 2 * 14 = 36.4
  // B moves whole: half out, half back.
  const GroupLinks pair = links_of(1, 2), apart = links_of(2, 1);
  check(CollectiveKind::kAllReduce, pair, {0, Algorithm::kRing, Protocol::kLl, 7.8});
  check(CollectiveKind::kAllReduce, pair, {100, Algorithm::kRing, Protocol::kSimple, 1015.2});
  check(CollectiveKind::kAllReduce, apart, {0, Algorithm::kRing, Protocol::kLl, 12});
  check(CollectiveKind::kAllReduce, apart, {100, Algorithm::kRing, Protocol::kSimple, 10036.4});
  // One rank a node: LL128 has 0.7 of the rate. 22 + 100 / 0.7 * 0.3 against 12 + 400 * 0.3 and 66.4.
  check(CollectiveKind::kAllReduce, apart, {0.3, Algorithm::kRing, Protocol::kLl128, 22 + 300 / 7.0});
}

TEST_CASE("a ring over 2 nodes of 8 goes between them twice a round") {
  // 15 steps, 2 of them between: LL 6.6 + 13 * 0.6 + 2 * 2.7; Simple 8.4 + 13 * 3.4 + 2 * 14.
  // Between nodes LL has a quarter of the rate for gathers too; inside a third.
  const GroupLinks two = links_of(2, 8);
  check(CollectiveKind::kAllGather, two, {0, Algorithm::kRing, Protocol::kLl, 19.8});
  check(CollectiveKind::kAllGather, two, {0.016, Algorithm::kRing, Protocol::kLl, 19.8 + 1.5 * 4});
  check(CollectiveKind::kReduceScatter, two, {160, Algorithm::kRing, Protocol::kSimple, 80.6 + 15000});
  check(CollectiveKind::kAllGather, links_of(1, 8),
        {0.16, Algorithm::kRing, Protocol::kLl, 6.6 + 7 * 0.6 + 1.4 * 3});
}

// The figures of an H100 node: 360 GB/s by ring, 312 in the switch.
GroupLinks h100_node(std::int64_t ranks) {
  GroupLinks links = links_of(1, ranks);
  links.inside = gigabytes_per_second(360);
  links.in_switch = gigabytes_per_second(312);
  return links;
}

TEST_CASE("NVLS takes the large all-reduces of a switched node") {
  //   8 ranks   ring LL 15 + 1.75 * 4 / 0.36 B = 15 + 19.444 B;   nvls 25 + 8/7 B / 0.312: from 0.634 MB
  check(CollectiveKind::kAllReduce, h100_node(8), {0.63, Algorithm::kRing, Protocol::kLl, 27.25});
  check(CollectiveKind::kAllReduce, h100_node(8),
        {0.66, Algorithm::kNvls, Protocol::kSimple, 25 + 8.0 / 7 * 0.66 / 0.312});
  check(CollectiveKind::kAllReduce, h100_node(8), {273, Algorithm::kNvls, Protocol::kSimple, 1025});
  // 4 ranks: a ring moves 1.5 B at 360 GB/s, 240 GB/s of the tensor; the switch 3/4 of 312, 234, but it
  // starts sooner: 25 us against 8.4 + 6 * 3.4 = 28.8.
  check(CollectiveKind::kAllReduce, h100_node(4), {240, Algorithm::kRing, Protocol::kSimple, 1028.8});
  check(CollectiveKind::kAllReduce, h100_node(4), {23.4, Algorithm::kNvls, Protocol::kSimple, 125});
  // A gather has nothing to reduce.
  check(CollectiveKind::kAllGather, h100_node(8),
        {360, Algorithm::kRing, Protocol::kSimple, 8.4 + 7 * 3.4 + 875});
}

TEST_CASE("NVLS is for more than two ranks of one domain") {
  // NCCL does not set it up for two, however fast the switch.
  GroupLinks pair = h100_node(2);
  pair.in_switch = gigabytes_per_second(3600);
  check(CollectiveKind::kAllReduce, pair, {360, Algorithm::kRing, Protocol::kSimple, 1015.2});
  GroupLinks two_nodes = links_of(2, 8);
  two_nodes.in_switch = gigabytes_per_second(3600);
  for (const double size : {0.0, 1.0, 1000.0})
    CHECK(fastest(CollectiveKind::kAllReduce, megabytes(size), two_nodes).algorithm != Algorithm::kNvls);
}

TEST_CASE("a broadcast goes down a tree once: log2 of the ranks, rounded up") {
  //   8 in a node          LL 6.8 + 3 * 0.6;   Simple 8.4 + 3 * 4 + 10 / 0.92 B
  //   5 nodes of 8         Simple 8.4 + 3 * 4 + 3 * 14 + 100 / 0.92 B
  check(CollectiveKind::kBroadcast, links_of(1, 8), {0, Algorithm::kTree, Protocol::kLl, 8.6});
  check(CollectiveKind::kBroadcast, links_of(1, 8), {92, Algorithm::kTree, Protocol::kSimple, 1020.4});
  check(CollectiveKind::kBroadcast, links_of(5, 8), {92, Algorithm::kTree, Protocol::kSimple, 10062.4});
}

TEST_CASE("an all-to-all sends each pair its own part, to 8 peers at a time") {
  constexpr auto kDirect = Algorithm::kDirect;
  constexpr auto kSimple = Protocol::kSimple;
  // 8 ranks: 7 peers are 1 + 6/8 rounds of 3.4 us; 7/8 of 80 MB at 10 us.
  check(CollectiveKind::kAllToAll, links_of(1, 8), {80, kDirect, kSimple, 8.4 + 1.75 * 3.4 + 700});
  // 9 peers are two rounds; 9/10 of 100 MB.
  check(CollectiveKind::kAllToAll, links_of(1, 10), {100, kDirect, kSimple, 8.4 + 2 * 3.4 + 900});
  // 2 nodes of 8: each of 8 ranks has 8 peers, 8/16 of its buffer, on the other side. 4 B leave a node.
  check(CollectiveKind::kAllToAll, links_of(2, 8),
        {16, kDirect, kSimple, 8.4 + 1.75 * 3.4 + 1.875 * 14 + 6400});
  // 4 nodes of one: 3/4 B, and no rank to reach by NVLink.
  check(CollectiveKind::kAllToAll, links_of(4, 1), {16, kDirect, kSimple, 8.4 + 1.25 * 14 + 1200});
  // Messages of 10 KB go by LL: 6.6 + 1.75 * 0.6, and 7/8 of 80 KB at a quarter of the rate.
  check(CollectiveKind::kAllToAll, links_of(1, 8),
        {0.08, kDirect, Protocol::kLl, 6.6 + 1.75 * 0.6 + 0.7 * 4});
  // Half of a pair's 16 MB is its own: at 50 GB/s to copy, all of it takes longer than half at 100 to send.
  GroupLinks pair = links_of(1, 2);
  pair.copying = gigabytes_per_second(50);
  check(CollectiveKind::kAllToAll, pair, {16, kDirect, kSimple, 8.4 + 3.4 + 320});
  // With NICs as fast as you like NVLink's 7/16 of 16 MB remain.
  GroupLinks wide = links_of(2, 8);
  wide.across = gigabytes_per_second(1e6);
  check(CollectiveKind::kAllToAll, wide, {16, kDirect, kSimple, 8.4 + 1.75 * 3.4 + 1.875 * 14 + 70});
  // Domains of 8 and 2: each of the 8 sends 2/10, each of the 2 8/10: 1.6 B either way.
  GroupLinks uneven = links_of(2, 8);
  uneven.placed.ranks = 10;
  uneven.placed.fewest_per_domain = 2;
  check(CollectiveKind::kAllToAll, uneven, {10, kDirect, kSimple, 8.4 + 3.4 + 1.875 * 14 + 1600});
}

TEST_CASE("a message is one step, by NVLink or by the NICs") {
  check(CollectiveKind::kSendReceive, links_of(1, 2),
        {10, Algorithm::kDirect, Protocol::kSimple, 8.4 + 3.4 + 100});
  check(CollectiveKind::kSendReceive, links_of(2, 1),
        {10, Algorithm::kDirect, Protocol::kSimple, 8.4 + 14 + 1000});
}

TEST_CASE("a fabric's own steps count in proportion, its latency scale counts starts as well") {
  GroupLinks two = links_of(2, 8);
  two.intra_steps = 2;
  two.inter_steps = 3;
  check(CollectiveKind::kAllGather, two,
        {160, Algorithm::kRing, Protocol::kSimple, 8.4 + 13 * 6.8 + 2 * 42 + 15000});
  two.latency_scale = 0.5;
  check(CollectiveKind::kAllGather, two, {160, Algorithm::kRing, Protocol::kSimple, 90.4 + 15000});
  // Without latency the most bandwidth wins at any size.
  two.latency_scale = 0;
  check(CollectiveKind::kAllGather, two, {0.16, Algorithm::kRing, Protocol::kSimple, 15});
}

TEST_CASE("on some fabrics every rank of a ring between nodes costs a step more, whatever the bytes") {
  GroupLinks two = links_of(2, 8);
  two.rank_step = microseconds(40);
  // 15 steps of a gather.
  check(CollectiveKind::kAllGather, two,
        {160, Algorithm::kRing, Protocol::kSimple, 15 * 40 + 8.4 + 13 * 3.4 + 2 * 14 + 15000});
  GroupLinks inside = links_of(1, 8);
  const Seconds without = fastest(CollectiveKind::kAllGather, Bytes(1e6), inside).seconds;
  inside.rank_step = microseconds(40);
  CHECK(fastest(CollectiveKind::kAllGather, Bytes(1e6), inside).seconds == without);
}

}  // namespace
}  // namespace foretrain
