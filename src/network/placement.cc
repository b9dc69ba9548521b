#include "network/placement.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "network/progression.h"

namespace foretrain {
namespace {

using std::int64_t;

// Of the ranks begin..end-1, the most that one node holds.
int64_t fullest_node(int64_t begin, int64_t end, int64_t node) {
  const int64_t first_end = std::min(end, (begin / node + 1) * node);
  return std::max(first_end - begin, std::min(end - first_end, node));
}

// Pairs (x, x + stride) for x < count, where stride + count is the number of ranks. NICs work both ways at
// once, so senders and receivers of one direction are counted apart.
struct Pairs {
  int64_t stride;
  int64_t count;

  // Most that cross domains and use one node. With a stride below the domain, those that cross are the last
  // before a domain's end; the first domain has as many as any other.
  int64_t sharers(const Grid& grid) const {
    const int64_t begin = std::max<int64_t>(0, grid.domain - stride);
    const int64_t end = stride >= grid.domain ? count : std::min(count, grid.domain);
    return std::max(fullest_node(begin, end, grid.node),
                    fullest_node(begin + stride, end + stride, grid.node));
  }

  // Of those that cross domains, the most that begin, or end, below one leaf.
  int64_t of_a_leaf(int64_t domain, int64_t leaf) const {
    const int64_t gpus = stride + count;
    if (stride >= domain) return std::max(std::min(count, leaf), fullest_node(stride, gpus, leaf));
    // Senders are the last `stride` ranks of a domain, receivers the first, but for those of the first
    // domain.
    const int64_t sending = std::min(count, leaf);
    const int64_t senders =
        sending / domain * stride + std::max<int64_t>(0, sending % domain + stride - domain);
    const auto receivers = [&](int64_t ranks) {
      return ranks / domain * stride + std::min(stride, ranks % domain);
    };
    return std::max({senders, receivers(std::min(gpus, leaf)) - stride,
                     gpus > leaf ? receivers(std::min(gpus - leaf, leaf)) : 0});
  }
};

Pairs pairs_of(const Group& group, int64_t gpus) { return {group.stride, gpus - group.stride}; }

PlacedGroup place_on(const Grid& grid, const Group& group) {
  if (group.pairs) return {.ranks = 2, .domains = 2, .sharers = pairs_of(group, grid.gpus).sharers(grid)};
  return evenly_placed(group, grid);
}

// GPUs below one leaf switch, in whole domains.
int64_t leaf_of(const Cluster& cluster, int64_t domain) {
  const int64_t gpus = cluster.fabric.leaf_nodes * cluster.gpus_per_node;
  return (gpus + domain - 1) / domain * domain;
}

// How many groups share the links above one leaf switch. A leaf is to its uplinks what a node is to its NICs.
int64_t leaf_sharers(const Group& group, int64_t gpus, const Cluster& cluster) {
  const int64_t domain = domain_of(cluster, gpus), leaf = leaf_of(cluster, domain);
  // Rings keep to their rails (NVLink takes data to the right NIC); a lone message leaves by its own rank's.
  if (group.pairs && cluster.fabric.rail_optimized && group.stride % cluster.gpus_per_node != 0)
    return pairs_of(group, gpus).of_a_leaf(domain, leaf);
  const Grid grid{gpus, leaf, leaf};
  if (grid.gpus <= leaf) return 0;
  return group.pairs ? pairs_of(group, gpus).sharers(grid) : most_sharers(group, grid);
}

int64_t leaf_ranks(const Group& group, int64_t gpus, const Cluster& cluster) {
  const int64_t leaf = leaf_of(cluster, domain_of(cluster, gpus));
  if (group.pairs) return 1;
  if (group.times > 1) return std::min(leaf, group.ranks());
  return std::min(group.size, (leaf + group.stride - 1) / group.stride);
}

}  // namespace

int64_t domain_of(const Cluster& cluster) { return std::max(cluster.nvlink_domain, cluster.gpus_per_node); }

int64_t domain_of(const Cluster& cluster, int64_t gpus) {
  const int64_t domain = domain_of(cluster), node = cluster.gpus_per_node;
  if (gpus <= domain || domain == node) return domain;
  const auto even = static_cast<int64_t>(std::bit_floor(static_cast<std::uint64_t>(domain)));
  if (even % node != 0) return domain;
  return gpus % domain == 0 && gpus % even != 0 ? domain : even;
}

int64_t nodes_of_a_leaf(const Cluster& cluster) {
  return leaf_of(cluster, domain_of(cluster)) / cluster.gpus_per_node;
}

PlacedGroup place(const Group& group, int64_t gpus, const Cluster& cluster) {
  CHECK_THAT(cluster.gpus_per_node >= 1);
  if (group.ranks() == 1) return {};
  const Grid grid{gpus, domain_of(cluster, gpus), cluster.gpus_per_node};
  if (grid.gpus <= grid.domain) return inside_one_domain(group.ranks());
  PlacedGroup placed = place_on(grid, group);
  if (cluster.fabric.leaf_nodes > 0 && placed.crosses_nodes())
    placed.leaf_sharers = leaf_sharers(group, gpus, cluster);
  if (placed.leaf_sharers > 0) placed.leaf_ranks = leaf_ranks(group, gpus, cluster);
  return placed;
}

bool straddles(const Group& group, int64_t gpus, const Cluster& cluster) {
  const int64_t domain = domain_of(cluster, gpus);
  const int64_t extent = (group.size - 1) * group.stride + (group.times - 1) * group.apart + 1;
  return !group.pairs && extent <= domain && place(group, gpus, cluster).crosses_nodes();
}

bool boundary_crosses(int64_t stage, int64_t stage_ranks, int64_t domain) {
  CHECK_THAT(stage >= 0 && stage_ranks >= 1 && domain >= 1);
  // Either both stages lie in one domain, or the last pair that begins before a domain's end crosses it.
  return stage * stage_ranks % domain + 2 * stage_ranks > domain;
}

}  // namespace foretrain
