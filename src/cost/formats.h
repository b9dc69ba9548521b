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

// Of scaled formats by other scaled ones; of the others none. Spreads: on our H200 the forwards of 100 shapes that were
// sampled in both differ from fp8 to fp8-row by 0.09 beyond what their analytic times say; the others are assumed.
std::span<const FormatRelative> format_relatives(Dtype dtype);

// What bf16's share of the rate says of a scaled format's.
inline constexpr double kFromBf16Spread = 0.25;

}  // namespace foretrain
