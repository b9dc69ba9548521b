// The physics of an operator on a GPU, before anything is learned: a few terms in seconds whose non-negative
// combination is the base of its time, and features on which the remaining (logarithmic) residual is learned.
//   time = sum of coefficient * term, times exp(residual(features))
//
// The first term is 1 us a launch. The others are each family's: tiles in waves of a product (product.cc) and
// of attention (attention.cc), bytes and rows of all else (light.h), with what the shape of its kernels adds
// (norm.h, softmax.h, optimizer.h, ...).
//
// New terms and features go behind the others of their kind: a model without them stays what it was.
#pragma once

#include <array>
#include <span>

#include "operators/operator.h"
#include "spec/gpu.h"

namespace foretrain {

inline constexpr std::size_t kMaxTerms = 12;
inline constexpr std::size_t kMaxFeatures = 40;

struct Terms {
  std::size_t count = 0;
  std::array<double, kMaxTerms> seconds{};

  void add(double s) { seconds[count++] = s; }
};
Terms physical_terms(const Operator& op, const Gpu& gpu);

// With each value how fast it changes things, for a smooth residual (cost/smooth.h): stated, in the value's
// own unit (doublings of a size, mostly), 0 where it is for trees alone. A fit scales them all at once.
struct Features {
  std::size_t count = 0;
  std::array<float, kMaxFeatures> values{};
  std::array<float, kMaxFeatures> scales{};

  void add(double value, double scale = 0) {
    values[count] = static_cast<float>(value);
    scales[count++] = static_cast<float>(scale);
  }
  std::span<const float> view() const { return {values.data(), count}; }
  std::span<const float> scale_view() const { return {scales.data(), count}; }
};
Features residual_features(const Operator& op, const Gpu& gpu);

// max(flops / rate, bytes / bandwidth): no kernel is faster.
Seconds roofline(const Operator& op, const Gpu& gpu);

}  // namespace foretrain
