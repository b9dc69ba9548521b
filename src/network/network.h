// What a collective takes on a placed group: the algorithm and protocol that NCCL would choose (algorithm.h),
// over the share of the links that the group has. Rates come from the cluster's figures; where samples of its
// fabric were fitted, their bandwidth share and latency take the place of the stated ones, and a layout that
// was sampled follows its samples, within and a little beyond their sizes.
//
// A ring enters and leaves each NVLink domain once whatever r, the ranks it has there, is: the same
// B (n - 1)/n passes that border, and r ranks bring r ranks' NICs to it. The group's NICs: a node's bandwidth
// over the groups that use it at once (placement's `sharers`), for every node it has in the domain; never
// more than its ranks can drive, ceil(NICs / GPUs of a node) each; nor than its share of a leaf switch's
// uplinks, where it leaves the leaf. Groups of one kind share these fairly (max_min.h).
#pragma once

#include <array>

#include "base/estimate.h"
#include "job/mesh.h"
#include "network/algorithm.h"
#include "workload/collective.h"

namespace foretrain {

struct CollectiveCost {
  Seconds seconds;
  double spread = 0.0;
  Origin origin = Origin::kAnalytic;
  double watts = 0.0;          // board power while it runs
  double clocked_share = 0.0;  // of seconds: links do not follow the SM clock
  double held_share = 0.0;     // of the SMs, by a dispatch or combine; 0: as NCCL's kernels do
  bool crosses_nodes = false;  // uses the NICs, otherwise NVLink alone
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;

  bool operator==(const CollectiveCost&) const = default;
};

// What the links give to a group before any efficiency.
struct LinkRates {
  BytesPerSecond nvlink;      // what one of its ranks can send inside its domain, in a collective
  BytesPerSecond nvlink_p2p;  // likewise one message
  BytesPerSecond nics;        // what the group can send out of one domain, in a collective
  BytesPerSecond nics_p2p;    // what one of its ranks can send out of its domain, alone
  BytesPerSecond uplinks;     // its share of a leaf's links up; zero: they do not bound it
};
LinkRates link_rates(const PlacedGroup& placed, const Cluster& cluster);

// A group that has its nodes to itself, as when samples are taken: `ranks_per_node` ranks in each of its
// nodes.
PlacedGroup placed_alone(std::int64_t ranks, std::int64_t ranks_per_node, const Cluster& cluster);

// By the cluster's figures, and its fitted collectives where it has some. More than one rank.
CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const PlacedGroup& placed,
                               const LinkRates& rates, const Cluster& cluster, const Routing& routing = {});

// An all-gather or reduce-scatter in place is one of the two halves of a ring all-reduce: where that was
// sampled it gets the same share of the links, and follows those samples as far as they ran a ring. Out of
// place, as samples of gathers are taken, a rank also copies its own share, which costs bandwidth on fast
// links: in the published LLaMA-7B runs activations (out of place) are gathered at 51 GB/s on one pair of
// A100s and 38 GB/s between two GH200, weights (in place) at 67 and 46.
CollectiveCost in_place_cost(CollectiveKind kind, Bytes bytes, const PlacedGroup& placed,
                             const LinkRates& rates, const Cluster& cluster);

class Network {
 public:
  Network(const Cluster& cluster, const Mesh& mesh);  // the cluster must outlive it
  Network(const Cluster&&, const Mesh&) = delete;

  // A group of one rank costs nothing. No bytes still cost the latency.
  CollectiveCost cost(const Collective& collective) const;
  // One message from each rank of `stage` to the next stage, or back: by NVLink unless that boundary crosses
  // domains, where the NICs are shared as on the busiest node.
  CollectiveCost send(std::int64_t stage, Bytes bytes) const;
  bool crosses(std::int64_t stage) const { return boundary_crosses(stage, stage_ranks_, domain_); }
  // Of the cluster: how much longer than stated operators and collectives take beside each other.
  double beside_scale() const { return cluster_.beside_scale; }
  const PlacedGroup& placed(GroupKind kind) const { return groups_[static_cast<std::size_t>(kind)].placed; }

 private:
  struct Place {
    PlacedGroup placed;
    LinkRates rates;
  };

  const Cluster& cluster_;
  std::int64_t stage_ranks_;
  std::int64_t domain_;  // ranks that NVLink joins
  std::array<Place, kGroupKindCount> groups_{};
};

}  // namespace foretrain
