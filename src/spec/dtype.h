// Number formats: how many bytes an element takes and by what name files call it.
//
// Formats of eight bits and fewer are those of a product's two operands, and say how they are scaled, since that
// decides which kernels multiply them (their result leaves in bf16):
//   fp8        one scale a tensor (delayed or current scaling)
//   fp8-row    one a row of either operand along the depth
//   fp8-block  one for 1 x 128 elements of activations, 128 x 128 of weights (DeepSeek-V3)
//   mxfp8      one of eight bits for 32 (OCP microscaling, Blackwell)
//   nvfp4      one of eight bits for 16 (Blackwell)
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace foretrain {

// New formats go last: a shape's fold in a fit follows from a hash of their number (fit/operator_fit.h).
enum class Dtype : unsigned char { kFp32, kTf32, kFp16, kBf16, kFp8, kMxfp8, kNvfp4, kFp8Row, kFp8Block };
inline constexpr int kDtypeCount = 9;

inline constexpr std::array<std::string_view, kDtypeCount> kDtypeNames = {
    "fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4", "fp8-row", "fp8-block"};

constexpr std::string_view name(Dtype dtype) { return kDtypeNames[static_cast<int>(dtype)]; }

constexpr double bytes_of(Dtype dtype) {
  // With the scales of blocks: of fp8-block 4 bytes for 128 elements, of mxfp8 1 for 32, of nvfp4 1 for 16. A
  // scale a row or a tensor is nothing beside it.
  constexpr double bytes[] = {4, 4, 2, 2, 1, 1.03125, 0.5625, 1, 1.03125};
  return bytes[static_cast<int>(dtype)];
}

// Operands that carry scales, and whose products leave in bf16.
constexpr bool is_scaled(Dtype dtype) { return dtype >= Dtype::kFp8; }

// Bytes of an element that a product of such operands makes.
constexpr double product_bytes_of(Dtype dtype) { return is_scaled(dtype) ? 2 : bytes_of(dtype); }

// The formats whose activations and weights are two bytes wide: what the workload models today.
constexpr bool is_half(Dtype dtype) { return dtype == Dtype::kFp16 || dtype == Dtype::kBf16; }

}  // namespace foretrain
