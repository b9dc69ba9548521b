#include "network/routed.h"

#include <algorithm>

namespace foretrain {
namespace {

struct Copies {
  const Routing& routing;
  double ranks, domains;

  double to_ranks() const {
    if (!routing.is_known()) return 1;
    return parts_reached(routing, ranks, 1 / ranks) / routing.top_k;
  }
  // Sent to other domains by a rank that has `members` in its own.
  double to_domains(double members) const {
    const double others = ranks - members;
    if (others <= 0) return 0;
    if (!routing.is_known()) return others / ranks;
    return parts_reached(routing, domains - 1, others / ranks / (domains - 1)) / routing.top_k;
  }
};

}  // namespace

RoutedTraffic routed_traffic(const Routing& routing, const PlacedGroup& placed) {
  const auto ranks = static_cast<double>(placed.ranks), domains = static_cast<double>(placed.domains);
  const auto most = static_cast<double>(placed.ranks_per_domain);
  const auto fewest = static_cast<double>(placed.fewest_per_domain);
  const Copies copies{routing, ranks, domains};
  RoutedTraffic traffic{.inside = copies.to_ranks() * (most - 1) / most};
  if (!placed.crosses_nodes()) return traffic;
  traffic.leaving = std::max(most * copies.to_domains(most), fewest * copies.to_domains(fewest));
  const double below = std::min(static_cast<double>(placed.leaf_ranks), ranks / 2);
  if (below > 0 && ranks > most)
    traffic.above = below * copies.to_domains(most) * std::min(1.0, (ranks - below) / (ranks - most));
  return traffic;
}

}  // namespace foretrain
