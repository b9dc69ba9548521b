#include "network/algorithm.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "network/routed.h"

namespace foretrain {
namespace {

struct ProtocolFigures {
  double ring_start, tree_start;
  double ring_intra, tree_intra;
  double ring_inter, tree_inter;  // all in microseconds
};
constexpr std::array<ProtocolFigures, 3> kFigures = {{
    {6.6, 6.8, 0.6, 0.6, 2.7, 5.0},
    {14.0, 14.0, 1.9, 1.25, 4.0, 8.5},
    {8.4, 8.4, 3.4, 4.0, 14.0, 14.0},
}};
constexpr double kNvlsStart = 25.0;
constexpr double kWorkOfCopy = 0.25;  // of a dispatched token's: aiconfigurator's tables, five GPUs
constexpr double kMostByLl = 16384;   // bytes of a message: NCCL's P2P_LL_THRESHOLD
constexpr double kPeersAtOnce = 8;    // NCCL runs this many of a rank's messages beside each other: assumed

double log2_rounded_up(std::int64_t n) { return std::bit_width(static_cast<std::uint64_t>(n - 1)); }

class Candidates {
 public:
  Candidates(CollectiveKind kind, Bytes bytes, const GroupLinks& links)
      : kind_(kind), bytes_(bytes.value), links_(links), n_(static_cast<double>(links.placed.ranks)) {}

  TimedAlgorithm best() {
    switch (kind_) {
      case CollectiveKind::kAllReduce:
        rings(2);
        trees();
        nvls();
        break;
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
        rings(1);
        break;
      case CollectiveKind::kBroadcast:
        broadcasts();
        break;
      case CollectiveKind::kAllToAll:
        all_to_all();
        break;
      case CollectiveKind::kSendReceive:
        send();
        break;
      case CollectiveKind::kDispatch:
      case CollectiveKind::kCombine:
      case CollectiveKind::kHybridDispatch:
      case CollectiveKind::kHybridCombine:
        routed();
        break;
    }
    CHECK_THAT(best_.seconds.value >= 0);
    return best_;
  }

 private:
  bool crosses() const { return links_.placed.crosses_nodes(); }
  double rate() const {
    return crosses() ? std::min(links_.inside, links_.across).value : links_.inside.value;
  }

  void add(Algorithm algorithm, Protocol protocol, double start_us, double intra_us, double inter_us,
           double moved, double rate) {
    const double latency =
        start_us * links_.start_scale + intra_us * links_.intra_steps + inter_us * links_.inter_steps;
    const Seconds seconds(latency * 1e-6 * links_.latency_scale + moved / rate);
    if (!any_ || seconds < best_.seconds) best_ = {seconds, algorithm, protocol};
    any_ = true;
  }

  void rings(double phases) {
    const double steps = phases * (n_ - 1);
    const double inter =
        crosses() ? phases * static_cast<double>(std::min(links_.placed.domains, links_.placed.ranks - 1))
                  : 0;
    const double start = crosses() ? steps * links_.rank_step.value * 1e6 : 0;
    for (int p = 0; p < 3; ++p) {
      const ProtocolFigures& f = kFigures[static_cast<std::size_t>(p)];
      const auto protocol = static_cast<Protocol>(p);
      const double share = protocol == Protocol::kSimple  ? 1.0
                           : protocol == Protocol::kLl128 ? (links_.placed.ranks_per_domain < 2 ? 0.7 : 0.92)
                           : crosses() || phases > 1      ? 1.0 / 4
                                                          : 1.0 / 3;
      add(Algorithm::kRing, protocol, start + f.ring_start, (steps - inter) * f.ring_intra,
          inter * f.ring_inter, phases * (n_ - 1) / n_ * bytes_, rate() * share);
    }
  }

  void trees() {
    const auto members = static_cast<double>(links_.placed.ranks_per_domain);
    const double depth = log2_rounded_up(links_.placed.domains);
    for (int p = 0; p < 3; ++p) {
      const ProtocolFigures& f = kFigures[static_cast<std::size_t>(p)];
      add(Algorithm::kTree, static_cast<Protocol>(p), f.tree_start, 2 * (members - 1) * f.tree_intra,
          2 * depth * f.tree_inter, 2 * bytes_, rate() * tree_share(static_cast<Protocol>(p)));
    }
  }

  void broadcasts() {
    for (int p = 0; p < 3; ++p) {
      const ProtocolFigures& f = kFigures[static_cast<std::size_t>(p)];
      add(Algorithm::kTree, static_cast<Protocol>(p), f.tree_start,
          log2_rounded_up(links_.placed.ranks_per_domain) * f.tree_intra,
          log2_rounded_up(links_.placed.domains) * f.tree_inter, bytes_,
          rate() * tree_share(static_cast<Protocol>(p)));
    }
  }

  double tree_share(Protocol protocol) const {
    constexpr double kTree = 0.92;
    if (protocol == Protocol::kSimple) return kTree;
    if (protocol == Protocol::kLl) return kTree / 3.8;
    return kTree * (crosses() ? 15.0 / 16 : 7.0 / 9);
  }

  void nvls() {
    if (crosses() || n_ <= 2 || links_.in_switch.value <= 0) return;
    add(Algorithm::kNvls, Protocol::kSimple, kNvlsStart, 0, 0, n_ / (n_ - 1) * bytes_,
        links_.in_switch.value);
  }

  void all_to_all() {
    const auto most = static_cast<double>(links_.placed.ranks_per_domain);
    const auto fewest = static_cast<double>(links_.placed.fewest_per_domain);
    const auto rounds = [](double peers) { return peers <= 0 ? 0.0 : 1 + (peers - 1) / kPeersAtOnce; };
    double moving = (most - 1) / n_ * bytes_ / links_.inside.value;
    if (crosses()) {
      // All that leaves a domain passes its NICs; what stays goes by NVLink meanwhile.
      const double leaving = std::max(most * (n_ - most), fewest * (n_ - fewest)) / n_;
      const double below = std::min(static_cast<double>(links_.placed.leaf_ranks), n_ / 2);
      const double above = links_.up.value > 0 ? below * (n_ - below) / n_ * bytes_ / links_.up.value : 0.0;
      moving = std::max({leaving * bytes_ / links_.across.value, above, moving});
    }
    if (links_.copying.value > 0) moving = std::max(moving, bytes_ / links_.copying.value);
    for (const Protocol protocol : {Protocol::kLl, Protocol::kSimple}) {
      const bool is_ll = protocol == Protocol::kLl;
      if (is_ll && bytes_ / n_ > kMostByLl) continue;
      const ProtocolFigures& f = kFigures[static_cast<std::size_t>(protocol)];
      add(Algorithm::kDirect, protocol, f.ring_start, rounds((crosses() ? fewest : n_) - 1) * f.ring_intra,
          crosses() ? rounds(n_ - fewest) * f.ring_inter : 0, moving, is_ll ? 1.0 / 4 : 1.0);
    }
  }

  void send() {
    const ProtocolFigures& f = kFigures[static_cast<std::size_t>(Protocol::kSimple)];
    add(Algorithm::kDirect, Protocol::kSimple, f.ring_start, crosses() ? 0 : f.ring_intra,
        crosses() ? f.ring_inter : 0, bytes_, (crosses() ? links_.across : links_.inside).value);
  }

  void routed() {
    constexpr double kStepsBetween = 4;  // counts are exchanged before the tokens, twice there and back
    const RoutedTraffic traffic = routed_traffic(links_.routing, links_.placed);
    const double seconds = std::max({traffic.inside * bytes_ / links_.inside.value,
                                     crosses() ? traffic.leaving * bytes_ / links_.across.value : 0.0,
                                     links_.up.value > 0 ? traffic.above * bytes_ / links_.up.value : 0.0});
    const Routing& routing = links_.routing;
    const double row = routing.row > Bytes(0) ? routing.row.value : kTypicalRow.value;
    const double tokens = bytes_ / row / std::max(1, routing.top_k);
    const bool is_dispatch = kind_ == CollectiveKind::kDispatch || kind_ == CollectiveKind::kHybridDispatch;
    const double copies = copied_bytes(Bytes(1), routing, n_).value * std::max(1, routing.top_k);
    const double rows = tokens * (is_dispatch ? 1 + copies * kWorkOfCopy : 1);
    const ProtocolFigures& f = kFigures[static_cast<std::size_t>(Protocol::kSimple)];
    add(Algorithm::kDirect, Protocol::kSimple, routed_figures(kind_).start_us, 0,
        crosses() ? kStepsBetween * f.ring_inter : 0, seconds + rows * links_.row.value, 1);
  }

  CollectiveKind kind_;
  double bytes_;
  const GroupLinks& links_;
  double n_;
  TimedAlgorithm best_;
  bool any_ = false;
};

}  // namespace

TimedAlgorithm fastest(CollectiveKind kind, Bytes bytes, const GroupLinks& links) {
  return Candidates(kind, bytes, links).best();
}

}  // namespace foretrain
