// What a collective takes by each algorithm and protocol that NCCL has, and which of them it would run: the
// one that its own model of the machine finds fastest. That model, and the latencies and shares below, are
// those of NCCL 2.20 to 2.27 (src/graph/tuning.cc, facts restated):
//   seconds = start + steps * step + bytes moved / (rate * share)
//
// n ranks, B bytes in the whole tensor (of an all-to-all: in each rank's buffer), d NVLink domains with r of
// the ranks in each; s the step inside a domain, S the step between two.
//   ring       all-reduce                   2 (n - 1) steps, 2 d of them S   2 (n - 1)/n B
//              all-gather, reduce-scatter   n - 1 steps, d of them S         (n - 1)/n B
//   tree       all-reduce                   2 (r - 1) s + 2 log2(d) S        2 B
//              broadcast                    log2(r) s + log2(d) S            B
//   nvls       all-reduce of more than two  none                             n/(n - 1) B, in the switch
//   direct     all-to-all                   messages to 8 peers at a time,   B/n from each to each
//                                           up to 16 KiB each by LL
//              send/receive                 one step                         B
//              dispatch, combine            see below                        copies (network/routed.h)
// Rings: Patarasuk and Yuan 2009; a double binary tree over domains: Sanders et al. 2009. Logarithms are
// rounded up. Inside one domain the tree is a chain: 2 (n - 1) s. With one rank a domain every step is S.
//
// Protocol   start, us    step s, us    step S, us   share of the rate
//            ring  tree   ring  tree    ring  tree   ring                           tree
//   LL       6.6   6.8    0.6   0.6     2.7   5.0    1/4; 1/3: gathers, in domain   0.92 / 3.8
//   LL128    14    14     1.9   1.25    4.0   8.5    0.92; 0.7 with r = 1           0.92 * 7/9 in a domain
//            ...                                                                    0.92 * 15/16 between
//   Simple   8.4   8.4    3.4   4.0     14    14     1                              0.92
// nvls starts in 25 us, inside a domain whose switch reduces; that its rate grows as (n - 1)/n is what H100s
// show (NVIDIA/nccl issue 1455: 258, 265, 270, 273 GB/s for five to eight; here 250, 260, 267, 273). A
// fabric's own latency scales its steps: `latency_us` of a tier over 3.4 or 14. Left out: NCCL's caps by
// channel and its corrections of trees by size, which stand for what it knows of particular machines; a fit
// of samples does that here.
//
// A ring or a tree passes a leaf switch's border once, as it passes a domain's; in an all-to-all every rank
// sends to all those below other leaves: m (n - m)/n B for m of the n ranks below a leaf, n/2 at most.
//
// A dispatch or combine is one kernel on a few SMs: it starts, works on each of its tokens, and moves their
// copies over NVLink and the NICs at once:
//   seconds = start + rows * row + max(copies / rate)
// where a dispatch has a row a token and a quarter of one for each copy of it, a combine a row a token.
//                        start, us   between domains, S   row, ns   share of NVLink   of the NICs
//   dispatch, combine    33, 50      4                    15, 40    0.9, 0.87         0.95
//   hybrid: likewise     130         4                    0         0.63, 0.55        0.75
// DeepEP's are what 20 SMs of an H100 reach in aiconfigurator's tables, HybridEP's what 16 of a GB200 reach in
// the tables of its README (as called from PyTorch; between nodes, an H100): clusters that were sampled have
// their own figures, these stand where none are.
//
// Of an all-to-all a rank's kernels also copy its own part, and copy no faster than SMs can: what bounds two
// ranks on Hopper, where half of the buffer is a rank's own, and all on Blackwell.
//
// Sends and receives go both ways at once at full rate: NVLink and NICs are full duplex.
#pragma once

#include <array>
#include <string_view>

#include "network/placement.h"
#include "spec/collective_kind.h"
#include "spec/routing.h"

namespace foretrain {

enum class Algorithm : unsigned char { kRing, kTree, kNvls, kDirect };
inline constexpr std::array<std::string_view, 4> kAlgorithmNames = {"ring", "tree", "nvls", "direct"};
constexpr std::string_view name(Algorithm a) { return kAlgorithmNames[static_cast<std::size_t>(a)]; }

enum class Protocol : unsigned char { kLl, kLl128, kSimple };
inline constexpr std::array<std::string_view, 3> kProtocolNames = {"LL", "LL128", "Simple"};
constexpr std::string_view name(Protocol p) { return kProtocolNames[static_cast<std::size_t>(p)]; }

inline constexpr Seconds kSimpleStepIntra = microseconds(3.4);
inline constexpr Seconds kSimpleStepInter = microseconds(14);

// A placed group and what it has to send over. Rates are what a large message reaches.
struct GroupLinks {
  PlacedGroup placed;
  Routing routing;           // of a dispatch or combine
  BytesPerSecond inside;     // what one of its ranks sends inside its domain
  BytesPerSecond across;     // what the group sends out of one domain
  BytesPerSecond up;         // what the group sends above one leaf switch; zero: all that it likes
  BytesPerSecond copying;    // what a rank copies of an all-to-all, its own part included; zero: any rate
  BytesPerSecond in_switch;  // bytes a second of an all-reduce in the switch; zero: none
  double intra_steps = 1.0;  // against NCCL's
  double inter_steps = 1.0;
  Seconds rank_step;           // on top, of every step of a ring that leaves a domain
  double latency_scale = 1.0;  // of starts and steps together
  double start_scale = 1.0;    // of starts and rank_step
  Seconds row;                 // of a dispatch or combine, a token
};

// What a dispatch or combine does where it was not sampled.
struct RoutedFigures {
  double start_us;
  double row_ns;
  double share_intra, share_inter;
};
constexpr RoutedFigures routed_figures(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kDispatch:
      return {33, 15, 0.9, 0.95};
    case CollectiveKind::kCombine:
      return {50, 40, 0.87, 0.95};
    case CollectiveKind::kHybridDispatch:
      return {130, 0, 0.63, 0.75};
    default:
      return {130, 0, 0.55, 0.75};
  }
}
// SMs that its kernels hold: Megatron-LM's defaults (moe_deepep_num_sms, moe_hybridep_num_sms).
constexpr std::int32_t exchange_sms(CollectiveKind kind) {
  return kind == CollectiveKind::kDispatch || kind == CollectiveKind::kCombine ? 20 : 16;
}
// A token's row where nobody says how long it is: 4096 elements of two bytes.
inline constexpr Bytes kTypicalRow{8192};

struct TimedAlgorithm {
  Seconds seconds;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
};

TimedAlgorithm fastest(CollectiveKind kind, Bytes bytes, const GroupLinks& links);

}  // namespace foretrain
