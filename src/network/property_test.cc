#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "network/network.h"

namespace foretrain {
namespace {

using Ranks = std::vector<std::int64_t>;

// Every group of a kind, straight from the meaning of the coordinates.
std::vector<Ranks> groups_of(GroupKind kind, const Layout& l) {
  const auto rank = [&](std::int64_t t, std::int64_t c, std::int64_t d, std::int64_t p) {
    return t + l.tp * (c + l.cp * (d + l.dp * p));
  };
  std::map<std::vector<std::int64_t>, Ranks> groups;
  for (std::int64_t p = 0; p < l.pp; ++p) {
    for (std::int64_t d = 0; d < l.dp; ++d) {
      for (std::int64_t c = 0; c < l.cp; ++c) {
        for (std::int64_t t = 0; t < l.tp; ++t) {
          const std::int64_t x = rank(t, c, d, p);
          switch (kind) {
            case GroupKind::kTensor:
              groups[{c, d, p}].push_back(x);
              break;
            case GroupKind::kContext:
              groups[{t, d, p}].push_back(x);
              break;
            case GroupKind::kData:
              groups[{t, p}].push_back(x);
              break;
            case GroupKind::kModel:
              groups[{c, d}].push_back(x);
              break;
            case GroupKind::kPipeline:
              if (p + 1 < l.pp) groups[{x}] = {x, rank(t, c, d, p + 1)};
              break;
            case GroupKind::kEmbedding:
              if (p == 0 && l.pp > 1) groups[{x}] = {x, rank(t, c, d, l.pp - 1)};
              break;
          }
        }
      }
    }
  }
  std::vector<Ranks> all;
  for (auto& [key, members] : groups) all.push_back(members);
  return all;
}

// The definition of PlacedGroup, by enumeration.
PlacedGroup place_by_counting(GroupKind kind, const Layout& layout, const Cluster& cluster) {
  const bool pairs = kind == GroupKind::kPipeline || kind == GroupKind::kEmbedding;
  const std::vector<Ranks> groups = groups_of(kind, layout);
  if (groups.empty()) return {};
  const auto size = static_cast<std::int64_t>(groups[0].size());
  PlacedGroup placed{.ranks = size, .ranks_per_domain = size, .fewest_per_domain = size};
  bool any_crosses = false;
  std::map<std::int64_t, std::int64_t> users, receivers;  // by node
  for (const Ranks& group : groups) {
    std::map<std::int64_t, std::int64_t> members;
    std::map<std::int64_t, std::set<std::int64_t>> nodes;
    for (const std::int64_t rank : group) {
      ++members[rank / cluster.nvlink_domain];
      nodes[rank / cluster.nvlink_domain].insert(rank / cluster.gpus_per_node);
    }
    if (members.size() == 1) continue;
    if (!any_crosses) placed.ranks_per_domain = 0, placed.nodes_per_domain = size;
    any_crosses = true;
    placed.domains = std::max(placed.domains, static_cast<std::int64_t>(members.size()));
    std::set<std::int64_t> all_nodes;
    for (const auto& [domain, count] : members) {
      placed.ranks_per_domain = std::max(placed.ranks_per_domain, count);
      placed.fewest_per_domain = std::min(placed.fewest_per_domain, count);
      placed.nodes_per_domain =
          std::min(placed.nodes_per_domain, static_cast<std::int64_t>(nodes[domain].size()));
      all_nodes.insert(nodes[domain].begin(), nodes[domain].end());
    }
    if (pairs) {
      ++users[group[0] / cluster.gpus_per_node];
      ++receivers[group[1] / cluster.gpus_per_node];
    } else {
      for (const std::int64_t node : all_nodes) ++users[node];
    }
  }
  for (const auto& [node, count] : users) placed.sharers = std::max(placed.sharers, count);
  for (const auto& [node, count] : receivers) placed.sharers = std::max(placed.sharers, count);
  return placed;
}

Cluster any_nodes() {
  Cluster cluster;
  cluster.gpus_per_node = *rc::gen::element<std::int64_t>(1, 2, 3, 4, 6, 8, 16);
  cluster.nvlink_domain = cluster.gpus_per_node * *rc::gen::element<std::int64_t>(1, 1, 1, 2, 3, 18);
  return cluster;
}

Layout any_layout(std::int64_t most) {
  const auto size = rc::gen::oneOf(rc::gen::element<std::int64_t>(1, 2, 4, 8, 16),
                                   rc::gen::inRange<std::int64_t>(1, most + 1));
  return {.tp = *size, .cp = *rc::gen::element<std::int64_t>(1, 1, 2, 3), .dp = *size, .pp = *size};
}

Link any_link() {
  return {.bandwidth = gigabytes_per_second(*rc::gen::inRange(1, 1000)),
          .latency = microseconds(*rc::gen::inRange(0, 100)),
          .collective_efficiency = 0.01 * *rc::gen::inRange(1, 101),
          .p2p_efficiency = 0.01 * *rc::gen::inRange(1, 101)};
}

Cluster any_cluster() {
  Cluster cluster = any_nodes();
  cluster.nics = *rc::gen::inRange<std::int64_t>(1, 2 * cluster.gpus_per_node + 1);
  cluster.intra = any_link();
  cluster.inter = any_link();
  return cluster;
}

Collective any_collective() {
  return {static_cast<CollectiveKind>(*rc::gen::inRange(0, kCollectiveKindCount)),
          static_cast<GroupKind>(*rc::gen::inRange(0, kGroupKindCount)),
          Bytes(*rc::gen::oneOf(rc::gen::just(0.0), rc::gen::map(rc::gen::inRange(0, 1 << 30), [](int bytes) {
                                  return static_cast<double>(bytes);
                                })))};
}

// Sums in another order may differ in the last digit.
bool no_less(Seconds a, Seconds b) { return a.value >= b.value * (1 - 1e-12); }

TEST_CASE("placement equals counting every member of every group") {
  CHECK(rc::check([] {
    const Layout layout = any_layout(12);
    const Cluster cluster = any_nodes();
    for (int kind = 0; kind < kGroupKindCount; ++kind) {
      const auto group = static_cast<GroupKind>(kind);
      RC_ASSERT(place(group, layout, cluster) == place_by_counting(group, layout, cluster));
    }
  }));
}

TEST_CASE("placement equals counting on every small layout") {
  std::int64_t wrong = 0, seen = 0;
  for (const std::int64_t node : {1, 2, 3, 4, 8}) {
    for (const std::int64_t nodes : {1, 2, 3}) {
      Cluster cluster;
      cluster.gpus_per_node = node;
      cluster.nvlink_domain = node * nodes;
      for (std::int64_t code = 0; code < 5 * 2 * 5 * 5; ++code) {
        const Layout layout{
            .tp = 1 + code % 5, .cp = 1 + code / 5 % 2, .dp = 1 + code / 10 % 5, .pp = 1 + code / 50 % 5};
        for (int kind = 0; kind < kGroupKindCount; ++kind) {
          const auto group = static_cast<GroupKind>(kind);
          wrong += place(group, layout, cluster) != place_by_counting(group, layout, cluster);
          ++seen;
        }
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(seen == 15 * 250 * kGroupKindCount);
}

TEST_CASE("a boundary crosses exactly where one of its pairs does") {
  for (std::int64_t domain = 1; domain <= 12; ++domain)
    for (std::int64_t ranks = 1; ranks <= 30; ++ranks)
      for (std::int64_t stage = 0; stage <= 15; ++stage) {
        bool any = false;
        for (std::int64_t rank = stage * ranks; rank < (stage + 1) * ranks; ++rank)
          any = any || rank / domain != (rank + ranks) / domain;
        CHECK(boundary_crosses(stage, ranks, domain) == any);
      }
}

TEST_CASE("a cost is finite, not negative, and zero for one rank") {
  CHECK(rc::check([] {
    const Network network(any_cluster(), any_layout(12));
    const Collective collective = any_collective();
    const CollectiveCost cost = network.cost(collective);
    RC_ASSERT(std::isfinite(cost.seconds.value));
    RC_ASSERT(cost.seconds.value >= 0);
    if (network.placed(collective.group).ranks == 1) RC_ASSERT(cost.seconds.value == 0);
  }));
}

TEST_CASE("more bytes are never faster") {
  CHECK(rc::check([] {
    const Network network(any_cluster(), any_layout(12));
    const Collective less = any_collective();
    Collective more = less;
    more.bytes += Bytes(*rc::gen::inRange(0, 1 << 30));
    RC_ASSERT(no_less(network.cost(more).seconds, network.cost(less).seconds));
  }));
}

TEST_CASE("more bandwidth is never slower, more latency never faster") {
  CHECK(rc::check([] {
    const Cluster cluster = any_cluster();
    const Layout layout = any_layout(12);
    const Collective collective = any_collective();
    const Seconds before = Network(cluster, layout).cost(collective).seconds;
    Cluster better = cluster, worse = cluster;
    Link& widened = *rc::gen::arbitrary<bool>() ? better.intra : better.inter;
    widened.bandwidth *= *rc::gen::inRange(1, 10);
    RC_ASSERT(no_less(before, Network(better, layout).cost(collective).seconds));
    Link& delayed = *rc::gen::arbitrary<bool>() ? worse.intra : worse.inter;
    delayed.latency += microseconds(*rc::gen::inRange(0, 50));
    RC_ASSERT(no_less(Network(worse, layout).cost(collective).seconds, before));
  }));
}

TEST_CASE("an all-gather and a reduce-scatter are each other's mirror") {
  CHECK(rc::check([] {
    const Network network(any_cluster(), any_layout(12));
    Collective gather = any_collective(), scatter = gather;
    gather.kind = CollectiveKind::kAllGather;
    scatter.kind = CollectiveKind::kReduceScatter;
    RC_ASSERT(network.cost(gather) == network.cost(scatter));
  }));
}

// Not so for a few bytes: an all-reduce has a tree's log2(n) hops, an all-gather a ring's n - 1.
TEST_CASE("an all-reduce moves at least an all-gather's bytes: without latency it is never faster") {
  CHECK(rc::check([] {
    Cluster cluster = any_cluster();
    cluster.intra.latency = cluster.inter.latency = Seconds(0);
    const Network network(cluster, any_layout(12));
    Collective reduce = any_collective(), gather = reduce;
    reduce.kind = CollectiveKind::kAllReduce;
    gather.kind = CollectiveKind::kAllGather;
    RC_ASSERT(no_less(network.cost(reduce).seconds, network.cost(gather).seconds));
  }));
}

}  // namespace
}  // namespace foretrain
