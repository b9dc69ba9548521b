// Compute and a collective at once on one GPU take from each other: the collective's kernels hold some of the
// SMs (24 of an H100's 132 for an NCCL all-gather), both use memory bandwidth and power.
//
//   both run:  compute advances 1/kComputeBeside seconds a second, the collective 1/kCollectiveBeside
//
// Lee et al. 2025 (arXiv 2507.03114) measure training on A100s, H100s and two AMD parts: compute takes 18.9 %
// longer on average (40 % at most) while something is communicated. For the other direction we know no
// figure: the same is assumed.
#pragma once

#include <algorithm>

#include "base/units.h"

namespace foretrain {

inline constexpr double kComputeBeside = 1.189;
inline constexpr double kCollectiveBeside = 1.189;

// `work` of compute starts beside `queue` of collectives (both as if alone).
struct Beside {
  Seconds compute;  // how long the work takes
  Seconds both;     // how long of it both run
};
inline Beside beside(Seconds work, Seconds queue) {
  if (queue <= Seconds(0)) return {work, Seconds(0)};
  const Seconds both = std::min(work * kComputeBeside, queue * kCollectiveBeside);
  return {both + (work - both / kComputeBeside), both};
}

// How much later something ends that had `left` to go when the two met.
inline Seconds collective_delay(Seconds left, Seconds both) {
  return std::min(std::max(left, Seconds(0)) * kCollectiveBeside, both) * (1 - 1 / kCollectiveBeside);
}

}  // namespace foretrain
