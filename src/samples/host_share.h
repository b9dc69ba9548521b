// The host's share of optimizer samples that were timed as spans.
//
// A fused optimizer prepares its tensors one by one on the host, then updates many of them with one kernel.
// A span over the whole step holds both,
//   us = a + b * bytes + c * tensors,
// though a GPU needs well under a microsecond to turn to the next tensor. Where this line fits the samples, b
// is a rate that the memory can have and c more than kMostOnGpu, the last part is taken off them: what is
// left is the GPU's, and how long a host needs is for the stack's launches to say.
#pragma once

#include <cstddef>
#include <span>

#include "samples/sample.h"
#include "spec/gpu.h"

namespace foretrain {

inline constexpr double kMostOnGpu = 5.0;  // us a tensor

// Us a tensor, taken off each of `samples` (of one operator_label); 0 where nothing was.
double take_off_host_share(std::span<Sample* const> samples, const Gpu& gpu);

}  // namespace foretrain
