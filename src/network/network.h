// What a collective takes on a placed group, from datasheet figures: latency and bandwidth by tier (Hockney's
// alpha-beta), rings and trees.
//
// n ranks, B bytes in the whole tensor (of an all-to-all: in each rank's buffer), a the latency of one hop,
// b the bytes a second a rank can send; log2 is rounded up. Inside one NVLink domain:
//   all-gather, reduce-scatter  ring   (n - 1) a + (n - 1)/n B / b
//   all-reduce                  ring   2 (n - 1) a + 2 (n - 1)/n B / b     (Patarasuk and Yuan 2009)
//                               tree   2 log2(n) a + 2 B / b               (double binary tree, Sanders 2009)
//   broadcast                   tree   log2(n) a + B / b
//   all-to-all                  pairs  (n - 1) a + (n - 1)/n B / b
//   send/receive                       a + B / b
// The faster of ring and tree is taken, as NCCL does.
//
// Over d domains with r ranks in each, A and a are the latencies between and inside domains, and b is the
// slower of NVLink and of what the group can send out of one domain. A ring enters and leaves each domain
// once whatever r is, so the same B (n - 1)/n passes that border; r ranks bring r ranks' NICs to it:
//   ring        d hops at A, the others at a
//   tree        2 log2(d) A + 2 (r - 1) a + 2 B / b    (all-reduce: a chain inside, a tree between)
//               log2(d) A + log2(r) a + B / b          (broadcast)
//   all-to-all  (n - r) A + (r - 1) a + the slower of  r (n - r)/n B / (group's NICs), (r - 1)/n B / NVLink
//   send/receive  A + B / (what one rank can send)
// The group's NICs: a node's bandwidth over the groups that use it at once (placement's `sharers`), for every
// node it has in the domain; but never more than its ranks can drive, ceil(NICs / GPUs of a node) each.
#pragma once

#include <array>

#include "base/estimate.h"
#include "network/placement.h"

namespace foretrain {

struct CollectiveCost {
  Seconds seconds;
  double spread = 0.0;
  Origin origin = Origin::kAnalytic;
  double watts = 0.0;          // board power while it runs
  double clocked_share = 0.0;  // of seconds: links do not follow the SM clock
  bool crosses_nodes = false;  // uses the NICs, otherwise NVLink alone

  bool operator==(const CollectiveCost&) const = default;
};

class Network {
 public:
  Network(const Cluster& cluster, const Layout& layout);

  // A group of one rank costs nothing. No bytes still cost the latency.
  CollectiveCost cost(const Collective& collective) const;
  // One message from each rank of `stage` to the next stage, or back: by NVLink unless that boundary crosses
  // domains, where the NICs are shared as on the busiest node.
  CollectiveCost send(std::int64_t stage, Bytes bytes) const;
  const PlacedGroup& placed(GroupKind kind) const { return groups_[static_cast<std::size_t>(kind)].placed; }

 private:
  struct Group {
    PlacedGroup placed;
    BytesPerSecond nvlink;      // what one of its ranks can send inside its domain, in a collective
    BytesPerSecond nvlink_p2p;  // likewise one message
    BytesPerSecond nics;        // what the group can send out of one domain, in a collective
    BytesPerSecond rank_p2p;    // what one of its ranks can send out of its domain, alone
  };

  CollectiveCost priced(CollectiveKind kind, Bytes bytes, const Group& group, bool crosses) const;
  Seconds inside(CollectiveKind kind, Bytes bytes, const Group& group) const;
  Seconds across(CollectiveKind kind, Bytes bytes, const Group& group) const;

  double watts_ = 0;
  Link intra_;  // copies, so that a Network outlives what it was made from
  Link inter_;
  std::int64_t stage_ranks_;
  std::int64_t domain_;  // ranks that NVLink joins
  std::array<Group, kGroupKindCount> groups_{};
};

}  // namespace foretrain
