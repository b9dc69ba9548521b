// Which formats of a product's operands lend their efficiency to one that was not sampled, nearest first. Kernels of
// one width differ by how they apply scales; across widths only the share of the rate carries over.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "spec/dtype.h"

namespace foretrain {

struct FormatRelative {
  Dtype dtype;
  double spread;  // relative deviation that the step adds
};

// Of scaled formats by other scaled ones; of the others none. Spreads: held against 150 shapes a pass sampled on our H200,
// the model of fp8 foretells fp8-row (and the other way) within 0.11 to 0.17 about the median, fp8-block within 0.08 to
// 0.13, and that of bf16 foretells them at 0.55 to 0.59 of its time (blocks 0.66; their
// weights' gradients 0.86) within 0.12 to 0.32. What Blackwell's own formats
// take from each other is assumed; blocks are emulated by mxfp8 there.
std::span<const FormatRelative> format_relatives(Dtype dtype);

// What bf16's share of the rate says of a scaled format's.
inline constexpr double kFromBf16Spread = 0.25;

}  // namespace foretrain
