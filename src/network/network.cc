#include "network/network.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace foretrain {
namespace {

// Datasheet figures against measured collectives: links inside a domain are uniform, networks are not
// (routing, other jobs), and a bandwidth that is itself a guess may be a NIC generation off.
constexpr double kIntraSpread = 0.15;
constexpr double kInterSpread = 0.30;
constexpr double kAssumedSpread = 0.45;

// Share of the card's power while it only moves data over links: assumed.
constexpr double kLinkPowerShare = 0.5;

double log2_rounded_up(std::int64_t n) { return std::bit_width(static_cast<std::uint64_t>(n - 1)); }

}  // namespace

Network::Network(const Cluster& cluster, const Layout& layout)
    : watts_(cluster.gpu.power_cap_w * kLinkPowerShare),
      intra_(cluster.intra),
      inter_(cluster.inter),
      stage_ranks_(layout.tp * layout.cp * layout.dp),
      domain_(std::max(cluster.nvlink_domain, cluster.gpus_per_node)) {
  CHECK_THAT(cluster.nics >= 1);
  const std::int64_t nics_per_rank = (cluster.nics + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  const BytesPerSecond node = inter_.bandwidth;
  const BytesPerSecond rank = node * (static_cast<double>(nics_per_rank) / static_cast<double>(cluster.nics));
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    group.placed = place(static_cast<GroupKind>(i), layout, cluster);
    const auto sharers = static_cast<double>(group.placed.sharers);
    const auto nodes = static_cast<double>(group.placed.nodes_per_domain);
    const auto fewest = static_cast<double>(group.placed.fewest_per_domain);
    const auto peers = static_cast<double>(std::max<std::int64_t>(group.placed.ranks_per_domain - 1, 1));
    const bool switched = intra_.pair == BytesPerSecond(0);
    group.nvlink = (switched ? intra_.bandwidth : std::min(intra_.bandwidth, intra_.pair * peers)) *
                   intra_.collective_efficiency;
    group.nvlink_p2p = (switched ? intra_.bandwidth : intra_.pair) * intra_.p2p_efficiency;
    group.nics = std::min(node * (nodes / sharers), rank * fewest) * inter_.collective_efficiency;
    group.rank_p2p = std::min(node / sharers, rank) * inter_.p2p_efficiency;
  }
}

CollectiveCost Network::cost(const Collective& collective) const {
  const Group& group = groups_[static_cast<std::size_t>(collective.group)];
  if (group.placed.ranks == 1) return {};
  return priced(collective.kind, collective.bytes, group, group.placed.crosses_nodes());
}

CollectiveCost Network::send(std::int64_t stage, Bytes bytes) const {
  const Group& pairs = groups_[static_cast<std::size_t>(GroupKind::kPipeline)];
  return priced(CollectiveKind::kSendReceive, bytes, pairs, boundary_crosses(stage, stage_ranks_, domain_));
}

CollectiveCost Network::priced(CollectiveKind kind, Bytes bytes, const Group& group, bool crosses) const {
  const bool assumed = crosses ? inter_.assumed : intra_.assumed;
  return {.seconds = crosses ? across(kind, bytes, group) : inside(kind, bytes, group),
          .spread = assumed   ? kAssumedSpread
                    : crosses ? kInterSpread
                              : kIntraSpread,
          .origin = Origin::kAnalytic,
          .watts = watts_,
          .crosses_nodes = crosses};
}

Seconds Network::inside(CollectiveKind kind, Bytes bytes, const Group& group) const {
  const auto n = static_cast<double>(group.placed.ranks);
  const double depth = log2_rounded_up(group.placed.ranks);
  const Seconds a = intra_.latency;
  const Seconds whole = bytes / group.nvlink;
  const Seconds ring = (n - 1) * a + (n - 1) / n * whole;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return std::min(2 * ring, 2 * depth * a + 2 * whole);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return ring;
    case CollectiveKind::kBroadcast:
      return depth * a + whole;
    case CollectiveKind::kSendReceive:
      return a + bytes / group.nvlink_p2p;
  }
  CHECK_THAT(false);
}

Seconds Network::across(CollectiveKind kind, Bytes bytes, const Group& group) const {
  const PlacedGroup& placed = group.placed;
  const auto n = static_cast<double>(placed.ranks);
  const auto r = static_cast<double>(placed.ranks_per_domain);
  const auto fewest = static_cast<double>(placed.fewest_per_domain);
  const Seconds a = intra_.latency;
  const Seconds between = inter_.latency;
  const double depth = log2_rounded_up(placed.domains);

  const Seconds whole = bytes / std::min(group.nvlink, group.nics);
  const auto borders = static_cast<double>(std::min(placed.domains, placed.ranks - 1));
  const Seconds ring = borders * between + (n - 1 - borders) * a + (n - 1) / n * whole;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return std::min(2 * ring, 2 * depth * between + 2 * (r - 1) * a + 2 * whole);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return ring;
    case CollectiveKind::kBroadcast:
      return depth * between + log2_rounded_up(placed.ranks_per_domain) * a + whole;
    case CollectiveKind::kAllToAll: {
      const double leaving = std::max(r * (n - r), fewest * (n - fewest)) / n;
      const Seconds latency = (n - fewest) * between + (fewest - 1) * a;
      return latency + std::max(leaving * bytes / group.nics, (r - 1) / n * bytes / group.nvlink);
    }
    case CollectiveKind::kSendReceive:
      return between + bytes / group.rank_p2p;
  }
  CHECK_THAT(false);
}

}  // namespace foretrain
