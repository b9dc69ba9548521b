// The physics of an operator on a GPU, before anything is learned: a few terms in seconds whose non-negative
// combination is the base of its time, and features on which the remaining (logarithmic) residual is learned.
//   time = sum of coefficient * term, times exp(residual(features))
//
// Terms of a product m x k x n on a GPU with s SMs and rate R:
//   1 us; flops / R; bytes / bandwidth; and for tiles of a x b the time of ceil(tiles / s) waves,
//   s * waves * 2 a b k / R: a last wave that is not full costs as much as a full one.
// Attention counts its head_dim padded to what kernels are built for, and waves of 128 queries.
// All else: 1 us, bytes / bandwidth, and rows (a row is a reduction of its own) or tensors.
#pragma once

#include <array>
#include <span>

#include "spec/gpu.h"
#include "workload/operator.h"

namespace foretrain {

inline constexpr std::size_t kMaxTerms = 8;
inline constexpr std::size_t kMaxFeatures = 20;

struct Terms {
  std::size_t count = 0;
  std::array<double, kMaxTerms> seconds{};

  void add(double s) { seconds[count++] = s; }
};
Terms physical_terms(const Operator& op, const Gpu& gpu);

struct Features {
  std::size_t count = 0;
  std::array<float, kMaxFeatures> values{};

  void add(double v) { values[count++] = static_cast<float>(v); }
  std::span<const float> view() const { return {values.data(), count}; }
};
Features residual_features(const Operator& op, const Gpu& gpu);

// What a kernel's head_dim is padded to.
std::int64_t padded_head_dim(std::int64_t head_dim);

// max(flops / rate, bytes / bandwidth): no kernel is faster.
Seconds roofline(const Operator& op, const Gpu& gpu);

}  // namespace foretrain
