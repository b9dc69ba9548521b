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

// Every group of a kind: the first rank that is in none yet begins the next.
std::vector<Ranks> groups_of(const Group& group, std::int64_t gpus) {
  std::vector<Ranks> all;
  if (group.ranks() == 1) return all;
  if (group.pairs) {
    for (std::int64_t x = 0; x + group.stride < gpus; ++x) all.push_back({x, x + group.stride});
    return all;
  }
  std::vector<bool> taken(static_cast<std::size_t>(gpus), false);
  for (std::int64_t first = 0; first < gpus; ++first) {
    if (taken[static_cast<std::size_t>(first)]) continue;
    Ranks& members = all.emplace_back();
    for (std::int64_t j = 0; j < group.times; ++j)
      for (std::int64_t i = 0; i < group.size; ++i) {
        members.push_back(first + i * group.stride + j * group.apart);
        taken[static_cast<std::size_t>(members.back())] = true;
      }
  }
  return all;
}

// Groups that go above one leaf: those that have ranks elsewhere, and messages that change their rail.
std::int64_t leaf_sharers_by_counting(const std::vector<Ranks>& groups, bool pairs, const Cluster& cluster) {
  if (cluster.fabric.leaf_nodes == 0) return 0;
  const std::int64_t node = cluster.gpus_per_node, leaf = nodes_of_a_leaf(cluster) * node;
  std::map<std::int64_t, std::int64_t> users, receivers;  // by leaf
  for (const Ranks& group : groups) {
    std::set<std::int64_t> leaves;
    for (const std::int64_t rank : group) leaves.insert(rank / leaf);
    if (pairs) {
      const bool crosses = group[0] / cluster.nvlink_domain != group[1] / cluster.nvlink_domain;
      const bool other_rail = cluster.fabric.rail_optimized && group[0] % node != group[1] % node;
      if (leaves.size() == 1 && !(crosses && other_rail)) continue;
      ++users[group[0] / leaf];
      ++receivers[group[1] / leaf];
    } else if (leaves.size() > 1) {
      for (const std::int64_t l : leaves) ++users[l];
    }
  }
  std::int64_t most = 0;
  for (const auto& [l, count] : users) most = std::max(most, count);
  for (const auto& [l, count] : receivers) most = std::max(most, count);
  return most;
}

// The definition of PlacedGroup, by enumeration.
PlacedGroup place_by_counting(const Group& group, std::int64_t gpus, const Cluster& cluster) {
  const bool pairs = group.pairs;
  const std::vector<Ranks> groups = groups_of(group, gpus);
  if (groups.empty()) return {};
  const auto size = static_cast<std::int64_t>(groups[0].size());
  PlacedGroup placed{.ranks = size, .ranks_per_domain = size, .fewest_per_domain = size};
  bool any_crosses = false;
  std::map<std::int64_t, std::int64_t> users, receivers;  // by node
  for (const Ranks& ranks : groups) {
    std::map<std::int64_t, std::int64_t> members;
    std::map<std::int64_t, std::set<std::int64_t>> nodes;
    for (const std::int64_t rank : ranks) {
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
      ++users[ranks[0] / cluster.gpus_per_node];
      ++receivers[ranks[1] / cluster.gpus_per_node];
    } else {
      for (const std::int64_t node : all_nodes) ++users[node];
    }
  }
  for (const auto& [node, count] : users) placed.sharers = std::max(placed.sharers, count);
  for (const auto& [node, count] : receivers) placed.sharers = std::max(placed.sharers, count);
  placed.leaf_sharers = any_crosses ? leaf_sharers_by_counting(groups, pairs, cluster) : 0;
  return placed;
}

Cluster any_nodes() {
  Cluster cluster;
  cluster.gpus_per_node = *rc::gen::element<std::int64_t>(1, 2, 3, 4, 6, 8, 16);
  cluster.nvlink_domain = cluster.gpus_per_node * *rc::gen::element<std::int64_t>(1, 1, 1, 2, 3, 18);
  cluster.fabric.leaf_nodes = *rc::gen::element<std::int64_t>(0, 0, 1, 2, 3, 4, 20, 32);
  cluster.fabric.rail_optimized = *rc::gen::arbitrary<bool>();
  return cluster;
}

std::int64_t any_divisor(std::int64_t n) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= n; ++d)
    if (n % d == 0) divisors.push_back(d);
  return *rc::gen::elementOf(divisors);
}

Mesh any_mesh(std::int64_t most) {
  const auto size = rc::gen::oneOf(rc::gen::element<std::int64_t>(1, 2, 4, 8, 16),
                                   rc::gen::inRange<std::int64_t>(1, most + 1));
  Mesh mesh{.tp = *size, .cp = *rc::gen::element<std::int64_t>(1, 1, 2, 3), .dp = *size, .pp = *size};
  mesh.ep = any_divisor(mesh.stage_ranks());
  mesh.shard = *rc::gen::arbitrary<bool>() ? any_divisor(mesh.data_ranks()) : 0;
  return mesh;
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
  cluster.intra.nvls_efficiency = *rc::gen::element(0.0, 0.0, 0.6, 1.5);
  cluster.inter = any_link();
  if (cluster.fabric.leaf_nodes > 0)
    cluster.fabric.oversubscription = *rc::gen::element(1.0, 1.5, 2.0, 4.0, 100.0);
  return cluster;
}

Collective any_collective() {
  Collective collective{
      static_cast<CollectiveKind>(*rc::gen::inRange(0, kCollectiveKindCount)),
      static_cast<GroupKind>(*rc::gen::inRange(0, kGroupKindCount)),
      Bytes(*rc::gen::oneOf(rc::gen::just(0.0), rc::gen::map(rc::gen::inRange(0, 1 << 30), [](int bytes) {
                              return static_cast<double>(bytes);
                            })))};
  if (is_routed(collective.kind)) {
    collective.experts = *rc::gen::element(0, 8, 60, 256);
    collective.top_k = *rc::gen::element(1, 2, 8);
    collective.row = Bytes(*rc::gen::element(0, 4096, 14336));
  }
  return collective;
}

// Sums in another order may differ in the last digit.
bool no_less(Seconds a, Seconds b) { return a.value >= b.value * (1 - 1e-12); }

bool equals_counting(GroupKind kind, const Mesh& mesh, const Cluster& cluster) {
  const Group group = mesh.group(kind);
  PlacedGroup placed = place(group, mesh.gpus(), cluster);
  placed.leaf_ranks = 0;    // a bound: see below
  Cluster taken = cluster;  // as much of each domain as the job takes
  taken.nvlink_domain = domain_of(cluster, mesh.gpus());
  return placed == place_by_counting(group, mesh.gpus(), taken);
}

TEST_CASE("placement equals counting every member of every group") {
  CHECK(rc::check([] {
    const Mesh mesh = any_mesh(12);
    const Cluster cluster = any_nodes();
    for (int kind = 0; kind < kGroupKindCount; ++kind) {
      const auto group = static_cast<GroupKind>(kind);
      RC_ASSERT(equals_counting(group, mesh, cluster));
    }
  }));
}

TEST_CASE("no leaf holds more ranks of a group than placement says") {
  CHECK(rc::check([] {
    const Mesh mesh = any_mesh(12);
    const Cluster cluster = any_nodes();
    for (int kind = 0; kind < kGroupKindCount; ++kind) {
      const Group group = mesh.group(static_cast<GroupKind>(kind));
      const PlacedGroup placed = place(group, mesh.gpus(), cluster);
      RC_ASSERT((placed.leaf_ranks > 0) == (placed.leaf_sharers > 0));
      if (placed.leaf_sharers == 0 || group.pairs) continue;
      Cluster taken = cluster;
      taken.nvlink_domain = domain_of(cluster, mesh.gpus());
      const std::int64_t leaf = nodes_of_a_leaf(taken) * cluster.gpus_per_node;
      for (const Ranks& ranks : groups_of(group, mesh.gpus())) {
        std::map<std::int64_t, std::int64_t> members;
        for (const std::int64_t rank : ranks) RC_ASSERT(++members[rank / leaf] <= placed.leaf_ranks);
      }
    }
  }));
}

// Each expert degree in turn, each size of shard groups, each leaf and rails with it.
TEST_CASE("placement equals counting on every small mesh") {
  std::int64_t wrong = 0, seen = 0;
  for (const std::int64_t node : {1, 2, 3, 4, 8}) {
    for (const std::int64_t nodes : {1, 2, 3}) {
      Cluster cluster;
      cluster.gpus_per_node = node;
      cluster.nvlink_domain = node * nodes;
      for (std::int64_t code = 0; code < 5 * 2 * 5 * 5; ++code) {
        Mesh mesh{
            .tp = 1 + code % 5, .cp = 1 + code / 5 % 2, .dp = 1 + code / 10 % 5, .pp = 1 + code / 50 % 5};
        const std::int64_t stage = mesh.stage_ranks();
        for (mesh.ep = 1; mesh.ep <= stage; ++mesh.ep) {
          if (stage % mesh.ep != 0) continue;
          cluster.fabric.leaf_nodes = mesh.ep % 4;
          cluster.fabric.rail_optimized = mesh.ep % 3 == 1;
          mesh.shard = mesh.data_ranks() % mesh.ep == 0 ? mesh.ep : 0;
          for (int kind = 0; kind < kGroupKindCount; ++kind) {
            const auto group = static_cast<GroupKind>(kind);
            wrong += !equals_counting(group, mesh, cluster);
            ++seen;
          }
        }
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(seen > 15 * 250 * kGroupKindCount);
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
    const Cluster cluster = any_cluster();
    const Network network(cluster, any_mesh(12));
    const Collective collective = any_collective();
    const CollectiveCost cost = network.cost(collective);
    RC_ASSERT(std::isfinite(cost.seconds.value));
    RC_ASSERT(cost.seconds.value >= 0);
    if (network.placed(collective.group).ranks == 1) RC_ASSERT(cost.seconds.value == 0);
  }));
}

TEST_CASE("more bytes are never faster") {
  CHECK(rc::check([] {
    const Cluster cluster = any_cluster();
    const Network network(cluster, any_mesh(12));
    const Collective less = any_collective();
    Collective more = less;
    more.bytes += Bytes(*rc::gen::inRange(0, 1 << 30));
    RC_ASSERT(no_less(network.cost(more).seconds, network.cost(less).seconds));
  }));
}

TEST_CASE("more bandwidth is never slower, more latency never faster") {
  CHECK(rc::check([] {
    const Cluster cluster = any_cluster();
    const Mesh mesh = any_mesh(12);
    const Collective collective = any_collective();
    const Seconds before = Network(cluster, mesh).cost(collective).seconds;
    Cluster better = cluster, worse = cluster;
    Link& widened = *rc::gen::arbitrary<bool>() ? better.intra : better.inter;
    widened.bandwidth *= *rc::gen::inRange(1, 10);
    RC_ASSERT(no_less(before, Network(better, mesh).cost(collective).seconds));
    Link& delayed = *rc::gen::arbitrary<bool>() ? worse.intra : worse.inter;
    delayed.latency += microseconds(*rc::gen::inRange(0, 50));
    RC_ASSERT(no_less(Network(worse, mesh).cost(collective).seconds, before));
  }));
}

TEST_CASE("an all-gather and a reduce-scatter are each other's mirror") {
  CHECK(rc::check([] {
    const Cluster cluster = any_cluster();
    const Network network(cluster, any_mesh(12));
    Collective gather = any_collective(), scatter = gather;
    gather.kind = CollectiveKind::kAllGather;
    scatter.kind = CollectiveKind::kReduceScatter;
    RC_ASSERT(network.cost(gather) == network.cost(scatter));
  }));
}

// Not so for a few bytes: an all-reduce has a tree's log2(n) steps, an all-gather a ring's n - 1.
// Nor where the switch reduces.
TEST_CASE("an all-reduce moves at least an all-gather's bytes: without latency it is never faster") {
  CHECK(rc::check([] {
    Cluster cluster = any_cluster();
    cluster.intra.nvls_efficiency = 0;
    for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather})
      for (const Tier tier : {Tier::kIntra, Tier::kInter})
        cluster.collectives.push_back({.kind = kind, .tier = tier, .latency_scale = 0});
    const Network network(cluster, any_mesh(12));
    Collective reduce = any_collective(), gather = reduce;
    reduce.kind = CollectiveKind::kAllReduce;
    gather.kind = CollectiveKind::kAllGather;
    RC_ASSERT(no_less(network.cost(reduce).seconds, network.cost(gather).seconds));
  }));
}

TEST_CASE("a thinner leaf is never faster, and one that is not oversubscribed is no different from none") {
  CHECK(rc::check([] {
    Cluster none = any_cluster();
    none.fabric.leaf_nodes = 0;
    none.fabric.oversubscription = 1;
    Cluster full = none;
    full.fabric.leaf_nodes = *rc::gen::inRange<std::int64_t>(1, 40);
    Cluster thin = full, thinner = full;
    thin.fabric.oversubscription = *rc::gen::inRange(1, 10);
    thinner.fabric.oversubscription = thin.fabric.oversubscription + *rc::gen::inRange(0, 10);
    const Mesh mesh = any_mesh(12);
    const Collective collective = any_collective();
    const auto seconds = [&](const Cluster& cluster) {
      return Network(cluster, mesh).cost(collective).seconds;
    };
    RC_ASSERT(seconds(full) == seconds(none));
    RC_ASSERT(no_less(seconds(thin), seconds(full)));
    RC_ASSERT(no_less(seconds(thinner), seconds(thin)));
  }));
}

TEST_CASE("rails never make a message faster") {
  CHECK(rc::check([] {
    Cluster flat = any_cluster(), rails = flat;
    flat.fabric.rail_optimized = false;
    rails.fabric.rail_optimized = true;
    const Mesh mesh = any_mesh(12);
    const Collective collective = any_collective();
    RC_ASSERT(
        no_less(Network(rails, mesh).cost(collective).seconds, Network(flat, mesh).cost(collective).seconds));
  }));
}

TEST_CASE("the choice is never slower than a ring by the Simple protocol") {
  CHECK(rc::check([] {
    const auto domains = *rc::gen::inRange<std::int64_t>(1, 40),
               members = *rc::gen::inRange<std::int64_t>(1, 9);
    RC_PRE(domains * members > 1);
    const GroupLinks links{.placed = {.ranks = domains * members,
                                      .domains = domains,
                                      .ranks_per_domain = members,
                                      .fewest_per_domain = members},
                           .inside = gigabytes_per_second(*rc::gen::inRange(1, 1000)),
                           .across = gigabytes_per_second(*rc::gen::inRange(1, 1000))};
    const double bytes = *rc::gen::inRange(0, 1 << 30);
    const auto n = static_cast<double>(domains * members);
    const double between = domains == 1 ? 0 : std::min(static_cast<double>(domains), n - 1);
    const double rate = domains == 1 ? links.inside.value : std::min(links.inside, links.across).value;
    const double ring =
        (8.4 + 2 * (n - 1 - between) * 3.4 + 2 * between * 14) * 1e-6 + 2 * (n - 1) / n * bytes / rate;
    RC_ASSERT(fastest(CollectiveKind::kAllReduce, Bytes(bytes), links).seconds.value <= ring * (1 + 1e-12));
  }));
}

}  // namespace
}  // namespace foretrain
