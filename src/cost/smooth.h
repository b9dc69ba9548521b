// Smooth regression: a sum of bumps around the points that were sampled (a Gaussian process's mean, kernel
// ridge regression), for few samples and for what changes gradually; trees are for many and for steps.
//   f(x) = mean + sum over points p of weight_p k(x, p),   k(x, p) = 1 / (1 + |S (x - p)|^2)
// where S scales each feature to how far it reaches. Far from all points f is the mean. The kernel (Cauchy's,
// a rational quadratic) needs no exponential: 2000 points of 20 features take about ten microseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace foretrain {

// Points lie in blocks of this many, feature by feature within a block; the last is filled up with points of
// weight zero.
inline constexpr std::size_t kSmoothBlock = 8;
inline constexpr std::int32_t kMaxSmoothFeatures = 40;

// A view: whoever owns the bytes outlives it.
struct SmoothView {
  float mean = 0.0f;
  std::span<const std::uint8_t> feature;  // which of the operator's features it looks at
  std::span<const float> scale;           // of each of these
  std::span<const float> points;          // scaled; blocks * features * kSmoothBlock
  std::span<const float> weights;         // blocks * kSmoothBlock

  bool empty() const { return weights.empty(); }
  float predict(std::span<const float> x) const;
};

// Whether predict() is safe and finite on vectors of `features` values.
bool well_formed(const SmoothView& smooth, std::int32_t features);

// The same with its own storage, as fitting makes it.
struct Smooth {
  float mean = 0.0f;
  std::vector<std::uint8_t> feature;
  std::vector<float> scale;
  std::vector<float> points;
  std::vector<float> weights;

  SmoothView view() const { return {mean, feature, scale, points, weights}; }
  bool operator==(const Smooth&) const = default;
};

}  // namespace foretrain
