#include "network/network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/check.h"
#include "network/max_min.h"

namespace foretrain {
namespace {

// Datasheet figures against measured collectives: links inside a domain are uniform, networks are not
// (routing, other jobs), and a bandwidth that is itself a guess may be a NIC generation off. Stated guesses.
constexpr double kIntraSpread = 0.15;
constexpr double kInterSpread = 0.30;
constexpr double kAssumedSpread = 0.45;

// What NCCL's kernels copy of an all-to-all, a rank's own part included: 568 to 604 GB/s on an H100 or H200,
// 675 on a B200, 700 on a GB200 (aiconfigurator's tables, two to eight GPUs).
constexpr BytesPerSecond kCopiedByAnSm = gigabytes_per_second(4.5);

// Share of the card's power while it only moves data over links: assumed.
constexpr double kLinkPowerShare = 0.5;

// A mean absolute error as a standard deviation, for a normal error: sqrt(pi / 2).
constexpr double kDeviationOfMean = 1.2533;

// Below the sampled sizes, where latency takes over, the factor fades to 1 over this many times; above them,
// where bandwidth is all, it stays. The spread grows by a tenth for each of them either way.
constexpr double kFade = 1.3862943611198906;  // ln 4
constexpr double kFadeSpread = 0.10;

const FittedCollective* find(const std::vector<FittedCollective>& fitted, CollectiveKind kind, Tier tier) {
  for (const FittedCollective& f : fitted)
    if (f.kind == kind && f.tier == tier) return &f;
  return nullptr;
}

const FittedLayout* find(const FittedCollective& fitted, const PlacedGroup& placed, const Cluster& cluster) {
  for (const FittedLayout& l : fitted.layouts) {
    const PlacedGroup sampled = placed_alone(l.ranks, l.ranks_per_node, cluster);
    if (sampled.ranks == placed.ranks && sampled.domains == placed.domains &&
        sampled.ranks_per_domain == placed.ranks_per_domain &&
        sampled.fewest_per_domain == placed.fewest_per_domain)
      return &l;
  }
  return nullptr;
}

// No collective of ours was sampled among more ranks; beyond them, or beyond a cluster's own samples, the spread grows
// as it does beyond sampled sizes: what a longer ring or a deeper tree meets there, nobody has told us.
constexpr std::int64_t kLargestSampled = 32;

double beyond(std::int64_t ranks, std::int64_t largest) {
  if (ranks <= largest) return 0;
  return kFadeSpread * std::log(static_cast<double>(ranks) / static_cast<double>(largest)) / kFade;
}

struct Factor {
  double value = 1.0;
  double outside = 0.0;  // how far beyond the sampled sizes, in kFade
};

Factor factor_at(const FittedLayout& layout, double bytes) {
  const std::vector<double>& x = layout.bytes;
  const std::vector<double>& y = layout.factor;
  if (bytes < x.front()) {
    const double outside = std::log(x.front() / std::max(bytes, 1.0)) / kFade;
    return {1 + (y.front() - 1) * std::max(0.0, 1 - outside), outside};
  }
  if (bytes >= x.back()) return {y.back(), std::log(bytes / x.back()) / kFade};
  const auto after = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), bytes) - x.begin());
  const double share = std::log(bytes / x[after - 1]) / std::log(x[after] / x[after - 1]);
  return {y[after - 1] + (y[after] - y[after - 1]) * share, 0.0};
}

}  // namespace

LinkRates link_rates(const PlacedGroup& placed, const Cluster& cluster) {
  const Link& intra = cluster.intra;
  const double node = cluster.inter.bandwidth.value;
  const std::int64_t nics_per_rank = (cluster.nics + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  const double rank = node * (static_cast<double>(nics_per_rank) / static_cast<double>(cluster.nics));
  const auto peers = static_cast<double>(std::max<std::int64_t>(placed.ranks_per_domain - 1, 1));
  const bool switched = intra.pair == BytesPerSecond(0);

  const Fabric& fabric = cluster.fabric;
  const bool thin = fabric.oversubscription > 1;  // otherwise what leaves the nodes fits
  const double uplinks = thin ? node * static_cast<double>(nodes_of_a_leaf(cluster)) / fabric.oversubscription
                              : std::numeric_limits<double>::infinity();
  const auto share = [&](double nodes, double limit) {
    const double capacities[] = {node * nodes, uplinks};
    const FlowClass flows{limit,
                          {static_cast<double>(placed.sharers), static_cast<double>(placed.leaf_sharers)}};
    double rate = 0;
    max_min(capacities, {&flows, 1}, {&rate, 1});
    return BytesPerSecond(rate);
  };
  return {.nvlink = switched ? intra.bandwidth : std::min(intra.bandwidth, intra.pair * peers),
          .nvlink_p2p = switched ? intra.bandwidth : intra.pair,
          .nics = share(static_cast<double>(placed.nodes_per_domain),
                        rank * static_cast<double>(placed.fewest_per_domain)),
          .nics_p2p = share(1, rank),
          .uplinks = BytesPerSecond(
              thin && placed.leaf_sharers > 0 ? uplinks / static_cast<double>(placed.leaf_sharers) : 0.0)};
}

PlacedGroup placed_alone(std::int64_t ranks, std::int64_t ranks_per_node, const Cluster& cluster) {
  CHECK_THAT(ranks >= 1 && ranks_per_node >= 1 && ranks % ranks_per_node == 0);
  const std::int64_t nodes = ranks / ranks_per_node;
  const std::int64_t joined = std::max<std::int64_t>(1, cluster.nvlink_domain / cluster.gpus_per_node);
  PlacedGroup placed{.ranks = ranks, .ranks_per_domain = ranks, .fewest_per_domain = ranks};
  if (nodes <= joined) return placed;
  const std::int64_t rest = nodes % joined == 0 ? joined : nodes % joined;
  placed.domains = (nodes + joined - 1) / joined;
  placed.ranks_per_domain = joined * ranks_per_node;
  placed.fewest_per_domain = rest * ranks_per_node;
  placed.nodes_per_domain = rest;
  return placed;
}

namespace {

// The fits of one kind that concern a group: inside its domains, and between them.
struct Fits {
  const FittedCollective* intra = nullptr;
  const FittedCollective* inter = nullptr;
  bool crosses = false;

  Fits(CollectiveKind kind, const PlacedGroup& placed, const Cluster& cluster)
      : intra(find(cluster.collectives, kind, Tier::kIntra)), crosses(placed.crosses_nodes()) {
    if (crosses) inter = find(cluster.collectives, kind, Tier::kInter);
    // How kernels use a GPU's own links is the same on all its clusters.
    if (intra == nullptr) intra = find(cluster.gpu.collectives, kind, Tier::kIntra);
  }
  const FittedCollective* own() const { return crosses ? inter : intra; }
};

// Where it was not sampled a dispatch gets no more of a link than collectives do: what slows those on a poor
// network slows it too.
double routed_share(CollectiveKind kind, const Link& link, bool inside) {
  const RoutedFigures figures = routed_figures(kind);
  return std::min(inside ? figures.share_intra : figures.share_inter,
                  inside ? 1.0 : link.collective_efficiency);
}

GroupLinks links_of(CollectiveKind kind, const Fits& fits, const PlacedGroup& placed, const LinkRates& rates,
                    const Cluster& cluster) {
  const bool message = kind == CollectiveKind::kSendReceive;
  const auto share = [&](const FittedCollective* fitted, const Link& link) {
    if (fitted) return fitted->bandwidth_share;
    if (is_routed(kind)) return routed_share(kind, link, &link == &cluster.intra);
    return message ? link.p2p_efficiency : link.collective_efficiency;
  };
  const Link& intra = cluster.intra;
  const Link& farthest = fits.crosses ? cluster.inter : intra;
  // What a fit makes of the stated efficiency of rings holds for the switch too.
  const double of_stated = share(fits.intra, intra) / intra.collective_efficiency;
  return {.placed = placed,
          .inside = (message ? rates.nvlink_p2p : rates.nvlink) * share(fits.intra, intra),
          .across = (message ? rates.nics_p2p : rates.nics) * share(fits.inter, cluster.inter),
          .up = rates.uplinks * share(fits.inter, cluster.inter),
          .copying = kCopiedByAnSm * (static_cast<double>(cluster.gpu.sms) / farthest.copy_scale),
          .in_switch = intra.bandwidth * (intra.nvls_efficiency * of_stated),
          .intra_steps = intra.latency / kSimpleStepIntra,
          .inter_steps = cluster.inter.latency / kSimpleStepInter,
          .rank_step = cluster.inter.rank_step,
          .latency_scale = fits.own() ? fits.own()->latency_scale : 1.0,
          .start_scale = farthest.start_scale};
}

// A cluster's own time a token is that of its fit inside domains where only that one was made.
Seconds row_of(CollectiveKind kind, const Fits& fits) {
  if (fits.own()) return fits.own()->row;
  if (fits.intra) return fits.intra->row;
  return Seconds(routed_figures(kind).row_ns * 1e-9);
}

CollectiveCost unfitted(const TimedAlgorithm& timed, const PlacedGroup& placed, const Cluster& cluster) {
  const bool crosses = placed.crosses_nodes();
  const bool assumed = crosses ? cluster.inter.assumed : cluster.intra.assumed;
  const double stated = assumed ? kAssumedSpread : crosses ? kInterSpread : kIntraSpread;
  return {.seconds = timed.seconds,
          .spread = std::hypot(stated, beyond(placed.ranks, kLargestSampled)),
          .origin = Origin::kAnalytic,
          .watts = cluster.gpu.power_cap_w * kLinkPowerShare,
          .crosses_nodes = crosses,
          .algorithm = timed.algorithm,
          .protocol = timed.protocol};
}

// A sampled layout follows its samples; others have the error of a layout that was left out.
void follow_samples(const FittedCollective& fitted, Bytes bytes, const PlacedGroup& placed,
                    const Cluster& cluster, CollectiveCost& cost) {
  const FittedLayout* layout = find(fitted, placed, cluster);
  if (layout == nullptr) {
    std::int64_t largest = 0;
    for (const FittedLayout& known : fitted.layouts) largest = std::max(largest, known.ranks);
    cost.spread = std::hypot(fitted.unseen_error * kDeviationOfMean, beyond(placed.ranks, largest));
    cost.origin = Origin::kExtrapolated;
    return;
  }
  const Factor factor = factor_at(*layout, bytes.value);
  cost.seconds *= factor.value;
  cost.spread = layout->spread + kFadeSpread * factor.outside;
  cost.origin = factor.outside > 0 ? Origin::kExtrapolated : Origin::kInterpolated;
}

}  // namespace

CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const PlacedGroup& placed,
                               const LinkRates& rates, const Cluster& cluster, const Routing& routing) {
  const Fits fits(kind, placed, cluster);
  GroupLinks links = links_of(kind, fits, placed, rates, cluster);
  if (is_routed(kind)) {
    links.routing = routing;
    links.row = row_of(kind, fits) * (fits.crosses ? cluster.inter : cluster.intra).copy_scale;
  }
  CollectiveCost cost = unfitted(fastest(kind, bytes, links), placed, cluster);
  if (fits.own() != nullptr)
    follow_samples(*fits.own(),
                   is_routed(kind) ? copied_bytes(bytes, routing, static_cast<double>(placed.ranks)) : bytes,
                   placed, cluster, cost);
  if (is_routed(kind) && cluster.gpu.sms > exchange_sms(kind))
    cost.held_share = static_cast<double>(exchange_sms(kind)) / static_cast<double>(cluster.gpu.sms);
  return cost;
}

CollectiveCost in_place_cost(CollectiveKind kind, Bytes bytes, const PlacedGroup& placed,
                             const LinkRates& rates, const Cluster& cluster) {
  const Fits fits(CollectiveKind::kAllReduce, placed, cluster);
  const bool is_half = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  if (!is_half || fits.own() == nullptr) return collective_cost(kind, bytes, placed, rates, cluster);
  const GroupLinks links = links_of(kind, fits, placed, rates, cluster);
  CollectiveCost cost = unfitted(fastest(kind, bytes, links), placed, cluster);
  // Samples of an all-reduce speak for its half only where it is a ring.
  if (fastest(CollectiveKind::kAllReduce, bytes, links).algorithm == Algorithm::kRing)
    follow_samples(*fits.own(), bytes, placed, cluster, cost);
  else
    cost.spread = fits.own()->unseen_error * kDeviationOfMean;
  cost.origin = std::max(cost.origin, Origin::kDerived);
  return cost;
}

namespace {

std::optional<GroupKind> same_group(const Mesh& mesh, GroupKind kind) {
  if (mesh.ep > 1 || mesh.etp != mesh.tp) return std::nullopt;
  switch (kind) {
    case GroupKind::kExpertTensor:
      return GroupKind::kTensor;
    case GroupKind::kExpertData:
      return GroupKind::kData;
    case GroupKind::kExpertShard:
      return GroupKind::kShard;
    case GroupKind::kExpertReplica:
      return GroupKind::kReplica;
    default:
      return std::nullopt;
  }
}

}  // namespace

Network::Network(const Cluster& cluster, const Mesh& mesh)
    : cluster_(cluster), stage_ranks_(mesh.stage_ranks()), domain_(domain_of(cluster, mesh.gpus())) {
  CHECK_THAT(cluster.nics >= 1);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    // Where experts lie on the ranks that everything else does, so do their groups.
    if (const auto same = same_group(mesh, static_cast<GroupKind>(i))) {
      groups_[i] = groups_[static_cast<std::size_t>(*same)];
      continue;
    }
    const Group group = mesh.group(static_cast<GroupKind>(i));
    if (group.ranks() == 1) continue;  // it exchanges nothing
    groups_[i].placed = place(group, mesh.gpus(), cluster);
    groups_[i].rates = link_rates(groups_[i].placed, cluster);
  }
}

CollectiveCost Network::cost(const Collective& collective) const {
  const Place& group = groups_[static_cast<std::size_t>(collective.group)];
  if (group.placed.ranks == 1) return {};
  if (collective.in_place)
    return in_place_cost(collective.kind, collective.bytes, group.placed, group.rates, cluster_);
  return collective_cost(
      collective.kind, collective.bytes, group.placed, group.rates, cluster_,
      {collective.experts, collective.top_k, collective.row, collective.groups, collective.group_limit});
}

CollectiveCost Network::send(std::int64_t stage, Bytes bytes) const {
  Place pairs = groups_[static_cast<std::size_t>(GroupKind::kPipeline)];
  if (!crosses(stage)) pairs.placed = {.ranks = 2, .ranks_per_domain = 2, .fewest_per_domain = 2};
  return collective_cost(CollectiveKind::kSendReceive, bytes, pairs.placed, pairs.rates, cluster_);
}

}  // namespace foretrain
