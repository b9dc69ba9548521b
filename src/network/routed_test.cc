#include "network/routed.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <set>
#include <vector>

#include "network/network.h"

namespace foretrain {
namespace {

constexpr Routing kDeepSeek{256, 8, Bytes(14336)};

PlacedGroup even(std::int64_t domains, std::int64_t members) {
  return {.ranks = domains * members,
          .domains = domains,
          .ranks_per_domain = members,
          .fewest_per_domain = members};
}

// Every choice of k of the experts once: how many of `parts` equal parts it meets, in the mean.
double reached_by_counting(int experts, int parts, int top_k) {
  double sum = 0, count = 0;
  for (unsigned chosen = 0; chosen < (1u << experts); ++chosen) {
    if (__builtin_popcount(chosen) != top_k) continue;
    std::set<int> met;
    for (int e = 0; e < experts; ++e)
      if ((chosen >> e & 1u) != 0) met.insert(e / (experts / parts));
    sum += static_cast<double>(met.size());
    ++count;
  }
  return sum / count;
}

TEST_CASE("the ranks that hold any of a token's experts, as counted over all choices") {
  for (const int parts : {1, 2, 3, 4, 6, 12})
    for (const int top_k : {1, 2, 5, 11, 12})
      CHECK(parts_reached({12, top_k}, parts, 1.0 / parts) ==
            doctest::Approx(reached_by_counting(12, parts, top_k)));
  // 8 (1 - 224/256 * 223/255 * ... * 217/249)
  CHECK(parts_reached(kDeepSeek, 8, 1.0 / 8) == doctest::Approx(5.29465).epsilon(1e-4));
}

TEST_CASE("where a token's experts are of some groups, it meets fewer nodes") {
  // Every choice of 2 of 4 groups of 3 experts, then of k of those 6: parts of a third, one and two groups.
  const auto counted = [](int parts, int top_k) {
    double sum = 0, count = 0;
    for (unsigned groups = 0; groups < 16; ++groups) {
      if (__builtin_popcount(groups) != 2) continue;
      for (unsigned chosen = 0; chosen < (1u << 12); ++chosen) {
        if (__builtin_popcount(chosen) != top_k) continue;
        std::set<int> met;
        bool eligible = true;
        for (int e = 0; e < 12; ++e)
          if ((chosen >> e & 1u) != 0) {
            eligible = eligible && (groups >> (e / 3) & 1u) != 0;
            met.insert(e * parts / 12);
          }
        if (!eligible) continue;
        sum += static_cast<double>(met.size());
        ++count;
      }
    }
    return sum / count;
  };
  for (const int parts : {1, 2, 4, 12})
    for (const int top_k : {1, 2, 5, 6})
      CHECK(parts_reached({12, top_k, {}, 4, 2}, parts, 1.0 / parts) ==
            doctest::Approx(counted(parts, top_k)));
  // DeepSeek-V3 on eight nodes, a group each: half of them eligible, of which a token's eight experts miss few.
  const Routing limited{256, 8, Bytes(14336), 8, 4};
  const double missed = chance_of_none(128, 0.25, 8);
  CHECK(parts_reached(limited, 8, 1.0 / 8) == doctest::Approx(4 * (1 - missed)));
  CHECK(parts_reached(limited, 8, 1.0 / 8) < 4);
  CHECK(routed_traffic(limited, even(8, 8)).leaving < 0.75 * routed_traffic(kDeepSeek, even(8, 8)).leaving);
  // A limit that excludes nothing is none.
  CHECK(parts_reached({256, 8, {}, 8, 8}, 8, 1.0 / 8) == parts_reached(kDeepSeek, 8, 1.0 / 8));
}

TEST_CASE("inside a domain a token goes once to each rank that holds any of its experts") {
  // Two experts of four on two ranks: both lie on one rank in 2 of 6 choices, so 5/3 of two ranks are met, of
  // which a half is the sender itself.
  const RoutedTraffic pair = routed_traffic({4, 2}, even(1, 2));
  CHECK(pair.inside == doctest::Approx(5.0 / 3 / 2 / 2));
  CHECK(pair.leaving == 0);
  CHECK(routed_traffic(kDeepSeek, even(1, 8)).inside == doctest::Approx(5.29465 / 8 * 7 / 8).epsilon(1e-4));
  // A token that has one expert goes nowhere twice: a plain all-to-all.
  CHECK(routed_traffic({64, 1}, even(1, 8)).inside == doctest::Approx(7.0 / 8));
}

TEST_CASE("between domains a token goes once to each that holds any, and on by NVLink") {
  // Four domains of 8: 4 (1 - 192/256 * ... * 185/249) = 3.614 domains, a quarter of them the sender's own;
  // 32 (1 - 248/256 * ... * 241/249) = 7.267 ranks, each reached by NVLink but for the one that forwards.
  const RoutedTraffic traffic = routed_traffic(kDeepSeek, even(4, 8));
  CHECK(traffic.leaving == doctest::Approx(8 * 3.61421 * 3 / 4 / 8).epsilon(1e-4));
  CHECK(traffic.inside == doctest::Approx(7.26680 / 8 * 7 / 8).epsilon(1e-4));
  // With one rank a domain nothing is forwarded, and domains are ranks.
  const RoutedTraffic apart = routed_traffic(kDeepSeek, even(8, 1));
  CHECK(apart.inside == 0);
  CHECK(apart.leaving == doctest::Approx(5.29465 / 8 * 7 / 8).epsilon(1e-4));
}

TEST_CASE("an uneven group is as slow as its busiest domain") {
  // Twelve ranks, eight and four: two experts of twelve, each of the other domain's ranks one expert.
  //   from the eight: a token meets the four with 1 - 8/12 * 7/11 = 1 - 56/132
  //   from the four: the eight with 1 - 4/12 * 3/11 = 1 - 12/132; per byte half of it, times 4
  const PlacedGroup uneven{.ranks = 12, .domains = 2, .ranks_per_domain = 8, .fewest_per_domain = 4};
  const double eight = 8 * (1 - 56.0 / 132) / 2, four = 4 * (1 - 12.0 / 132) / 2;
  CHECK(eight > four);
  CHECK(routed_traffic({12, 2}, uneven).leaving == doctest::Approx(eight));
}

TEST_CASE("above a leaf switch goes what is for ranks below others") {
  PlacedGroup placed = even(4, 2);
  placed.leaf_sharers = 1;
  placed.leaf_ranks = 4;  // two of the four domains below each leaf
  const RoutedTraffic traffic = routed_traffic({8, 1}, placed);
  CHECK(traffic.leaving == doctest::Approx(2 * 6.0 / 8));
  CHECK(traffic.above == doctest::Approx(4 * 4.0 / 8));  // half of all tokens are for the other half
}

TEST_CASE("where routing is not known every byte goes its own way") {
  const RoutedTraffic traffic = routed_traffic({}, even(2, 4));
  CHECK(traffic.inside == doctest::Approx(3.0 / 4));
  CHECK(traffic.leaving == doctest::Approx(4 * 4.0 / 8));
}

Cluster nodes_of_8() {
  Cluster cluster;
  cluster.gpus_per_node = cluster.nvlink_domain = 8;
  cluster.nics = 8;
  cluster.intra = {.bandwidth = gigabytes_per_second(450), .latency = microseconds(3.4)};
  cluster.inter = {
      .bandwidth = gigabytes_per_second(400), .latency = microseconds(14), .collective_efficiency = 0.9};
  return cluster;
}

Seconds cost(CollectiveKind kind, Bytes bytes, const PlacedGroup& placed, const Cluster& cluster,
             const Routing& routing) {
  return collective_cost(kind, bytes, placed, link_rates(placed, cluster), cluster, routing).seconds;
}

TEST_CASE("a dispatch starts, works on its tokens and moves their copies") {
  // 4096 tokens of DeepSeek-V3 in bf16, in a node: 33 us, 15 ns a token and a quarter of that a copy, and the copies' bytes
  // at 0.9 of 450 GB/s.
  const Cluster cluster = nodes_of_8();
  const Bytes plain(4096.0 * 8 * 14336);
  CHECK(cost(CollectiveKind::kDispatch, plain, even(1, 8), cluster, kDeepSeek).value * 1e6 ==
        doctest::Approx(33 + 4096 * 0.015 * (1 + 5.29465 / 4) + 4096 * 14336 * 5.29465 * 7 / 8 / 405e3)
            .epsilon(1e-4));
  // A combine: 50 us, 40 ns, 0.87.
  CHECK(cost(CollectiveKind::kCombine, plain, even(1, 8), cluster, kDeepSeek).value * 1e6 ==
        doctest::Approx(50 + 4096 * 0.04 + 4096 * 14336 * 5.29465 * 7 / 8 / 391.5e3).epsilon(1e-4));
}

TEST_CASE("between nodes the NICs of all its ranks carry one copy to each node") {
  // Four nodes: four steps of 14 us more; 2.711 copies of each token over 0.9 of a rank's 50 GB/s, which
  // takes longer than NVLink's.
  const Cluster cluster = nodes_of_8();
  CHECK(cost(CollectiveKind::kDispatch, Bytes(4096.0 * 8 * 14336), even(4, 8), cluster, kDeepSeek).value *
            1e6 ==
        doctest::Approx(33 + 56 + 4096 * 0.015 * (1 + 7.26680 / 4) + 4096 * 14336 * 3.61421 * 3 / 4 / 45e3)
            .epsilon(1e-4));
}

TEST_CASE("a dispatch gets no more of a poor network than collectives do") {
  Cluster poor = nodes_of_8();
  poor.inter.collective_efficiency = 0.09;
  const auto moving = [&](const Cluster& cluster) {
    return cost(CollectiveKind::kDispatch, Bytes(1e12), even(4, 8), cluster, kDeepSeek).value -
           1e12 / 8 / 14336 * (1 + 7.26680 / 4) * 15e-9;
  };
  CHECK(moving(poor) == doctest::Approx(10 * moving(nodes_of_8())).epsilon(1e-3));
}

TEST_CASE("a fitted dispatch takes its own share, latency and time a token") {
  Cluster cluster = nodes_of_8();
  cluster.collectives = {{.kind = CollectiveKind::kDispatch,
                          .tier = Tier::kIntra,
                          .bandwidth_share = 0.5,
                          .latency_scale = 2,
                          .row = Seconds(10e-9)}};
  CHECK(cost(CollectiveKind::kDispatch, Bytes(4096.0 * 8 * 14336), even(1, 8), cluster, kDeepSeek).value *
            1e6 ==
        doctest::Approx(66 + 4096 * 0.01 * (1 + 5.29465 / 4) + 4096 * 14336 * 5.29465 * 7 / 8 / 225e3)
            .epsilon(1e-4));
}

TEST_CASE("a sampled dispatch follows its factor by the bytes of its copies") {
  Cluster cluster = nodes_of_8();
  FittedCollective fit{.kind = CollectiveKind::kDispatch, .tier = Tier::kIntra, .bandwidth_share = 0.5};
  cluster.collectives = {fit};
  const auto seconds = [&](const Routing& routing) {
    return cost(CollectiveKind::kDispatch, Bytes(8e6), even(1, 8), cluster, routing).value;
  };
  const double top_8 = seconds({256, 8, Bytes(1e4)}), top_1 = seconds({256, 1, Bytes(1e4)});
  fit.layouts = {{.ranks = 8, .ranks_per_node = 8, .bytes = {5.29465e6, 8e6}, .factor = {2, 3}}};
  cluster.collectives = {fit};
  CHECK(seconds({256, 8, Bytes(1e4)}) == doctest::Approx(2 * top_8).epsilon(1e-4));
  CHECK(seconds({256, 1, Bytes(1e4)}) == doctest::Approx(3 * top_1));
}

TEST_CASE("copies are never more than a plain all-to-all's, nor fewer with more experts a token") {
  CHECK(rc::check([] {
    const auto domains = *rc::gen::inRange<std::int64_t>(1, 9),
               members = *rc::gen::inRange<std::int64_t>(1, 9);
    RC_PRE(domains * members > 1);
    const PlacedGroup placed = even(domains, members);
    const auto experts = static_cast<std::int32_t>(placed.ranks * *rc::gen::inRange(1, 9));
    const std::int32_t top_k = *rc::gen::inRange(1, std::min(experts, 12) + 1);
    const RoutedTraffic plain = routed_traffic({}, placed);
    const RoutedTraffic traffic = routed_traffic({experts, top_k}, placed);
    RC_ASSERT(traffic.inside <= plain.inside * (1 + 1e-9));
    RC_ASSERT(traffic.leaving <= plain.leaving * (1 + 1e-9));
    if (top_k == experts) return;
    const RoutedTraffic more = routed_traffic({experts, top_k + 1}, placed);
    RC_ASSERT(more.inside * (top_k + 1) >= traffic.inside * top_k * (1 - 1e-9));
    RC_ASSERT(more.leaving * (top_k + 1) >= traffic.leaving * top_k * (1 - 1e-9));
  }));
}

TEST_CASE("an exchange over more nodes is never faster") {
  const Cluster cluster = nodes_of_8();
  for (const CollectiveKind kind :
       {CollectiveKind::kAllToAll, CollectiveKind::kDispatch, CollectiveKind::kCombine,
        CollectiveKind::kHybridDispatch, CollectiveKind::kHybridCombine}) {
    Seconds before;
    for (const std::int64_t nodes : {1, 2, 4, 8, 16}) {
      const Seconds now = cost(kind, Bytes(1e9), even(nodes, 8), cluster, kDeepSeek);
      CHECK(now > before);
      before = now;
    }
  }
}

}  // namespace
}  // namespace foretrain
