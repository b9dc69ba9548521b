// Number formats: how many bytes an element takes and by what name files call it.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace foretrain {

enum class Dtype : unsigned char { kFp32, kTf32, kFp16, kBf16, kFp8, kMxfp8, kNvfp4 };
inline constexpr int kDtypeCount = 7;

inline constexpr std::array<std::string_view, kDtypeCount> kDtypeNames = {"fp32", "tf32",  "fp16", "bf16",
                                                                          "fp8",  "mxfp8", "nvfp4"};

constexpr std::string_view name(Dtype dtype) { return kDtypeNames[static_cast<int>(dtype)]; }

constexpr double bytes_of(Dtype dtype) {
  constexpr double bytes[] = {4, 4, 2, 2, 1, 1.03125, 0.5625};  // block scales included
  return bytes[static_cast<int>(dtype)];
}

// The formats whose activations and weights are two bytes wide: what the workload models today.
constexpr bool is_half(Dtype dtype) { return dtype == Dtype::kFp16 || dtype == Dtype::kBf16; }

}  // namespace foretrain
