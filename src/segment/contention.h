// Compute and a collective at once on one GPU take from each other: the collective's kernels hold some of the
// SMs (24 of an H100's 132 for an NCCL all-gather), both use memory bandwidth and power.
//
//   both run:  compute advances 1/slow.compute seconds a second, the collective 1/slow.collective
//
//   beside                                  compute takes longer     the collective
//   a collective of NCCL                    1.189                    1.189, assumed
//   a dispatch or combine, h of s SMs       s / (s - h)              the same, assumed
//     DeepEP, 20 of an H100's 132           1.179
//     HybridEP, 16 of a B200's 148          1.121
//
// Lee et al. 2025 (arXiv 2507.03114) measure training on A100s, H100s and two AMD parts: compute takes 18.9 %
// longer on average (40 % at most) while something is communicated. For the other direction we know no figure.
// A dispatch or combine runs on a number of SMs that is set, and leaves the others alone: DeepSeek-V3's report
// (arXiv 2412.19437, section 3.2.2) gives it 20 of an H800's 132, as Megatron-LM does by default, which gives
// HybridEP 16. What that costs was measured for exchanges fused with grouped products on an MI355X (table of
// AMD's Primus-Turbo): five pairs take what both take at once, and 14.6 % (9 to 22) of the shorter one longer;
// so do the two above, to a few per cent.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace foretrain {

inline constexpr double kComputeBeside = 1.189;
inline constexpr double kCollectiveBeside = 1.189;

struct SlowDown {
  double compute = kComputeBeside;
  double collective = kCollectiveBeside;
};

// Beside a collective of NCCL. `scale`: both take so many times as much longer (Cluster::beside_scale).
constexpr SlowDown beside_collective(double scale) {
  return {1 + (kComputeBeside - 1) * scale, 1 + (kCollectiveBeside - 1) * scale};
}

// Beside a dispatch or combine that holds this share of a GPU's SMs; 0: not stated, or another collective.
constexpr SlowDown beside_exchange(double held_share, double scale) {
  if (held_share <= 0) return beside_collective(scale);
  const double longer = 1 + (1 / (1 - held_share) - 1) * scale;
  return {longer, longer};
}

// `work` of compute starts beside `queue` of collectives (both as if alone).
struct Beside {
  Seconds compute;  // how long the work takes
  Seconds both;     // how long of it both run
};
inline Beside beside(Seconds work, Seconds queue, const SlowDown& slow) {
  if (queue <= Seconds(0)) return {work, Seconds(0)};
  const Seconds both = std::min(work * slow.compute, queue * slow.collective);
  return {both + (work - both / slow.compute), both};
}

// How much later something ends that had `left` to go when the two met.
inline Seconds collective_delay(Seconds left, Seconds both, const SlowDown& slow) {
  return std::min(std::max(left, Seconds(0)) * slow.collective, both) * (1 - 1 / slow.collective);
}

}  // namespace foretrain
