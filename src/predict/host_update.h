// An update that is not the GPU's alone.
//   offloaded (ZeRO-Offload; Ren et al. 2021, arXiv 2101.06840): gradients go down beside the last backward; then
//     the CPU reads gradient, master copy and both moments in fp32 and writes all but the first, 28 bytes an
//     element at its memory's rate, of which every GPU of a node has a share; then updated weights come up.
//   paged: what of the states did not fit on the GPU is fetched, and sent back.
// Steps follow each other; what ZeRO-Offload overlaps of the last two is left out.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "job/job.h"
#include "spec/cluster.h"

namespace foretrain {

inline constexpr double kCpuAdamBytes = 4 + 2 * (4 + 4 + 4);

// Seconds of a rank that updates `owned` parameters, whose last backward takes so long.
Seconds offloaded_update(const Cluster& cluster, const Job& job, std::int64_t owned, Seconds backward);

Seconds paged_update(const Cluster& cluster, Bytes off_the_gpu);

}  // namespace foretrain
