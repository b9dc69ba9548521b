// The physics of an operator on a GPU, before anything is learned: a few terms in seconds whose non-negative
// combination is the base of its time, and features on which the remaining (logarithmic) residual is learned.
//   time = sum of coefficient * term, times exp(residual(features))
//
// Terms of a product m x k x n on a GPU with s SMs and rate R:
//   1 us; flops / R; bytes / bandwidth; and for tiles of a x b the time of ceil(tiles / s) waves,
//   s * waves * 2 a b k / R: a last wave that is not full costs as much as a full one; the best tilings
//   (operators/tiling.h); and what a product takes longer whose rows are no multiple of 8 elements (k and n,
//   the sides along which memory runs): libraries then fall back to kernels that load one, two or four at a
//   time.
// A grouped product is a batch of one product an expert, of unequal rows (tiles_along); a loop of them fills
// its waves expert by expert.
// Attention counts its head_dim padded to what kernels are built for, waves of 128 queries, the last of which
// sees all keys, and heads wider than 128 apart.
// All else: 1 us, bytes / bandwidth, rows (a row is a reduction of its own) or tensors, and the bytes again
// where rows or tensors are no multiple of 8 elements; of rows sent to experts also those visited again, of
// routes those that are sorted; then, where kernels and blocks decide the time more than bytes do (lists of
// tensors, sums over tokens, softmax, norms, embeddings), what operators/light_kernels.h counts, and the
// bytes again of those shapes that take a kernel of one element a load: a mask spread over many squares, a
// sum of two formats.
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

// What a kernel's head_dim is padded to.
std::int64_t padded_head_dim(std::int64_t head_dim);

// max(flops / rate, bytes / bandwidth): no kernel is faster.
Seconds roofline(const Operator& op, const Gpu& gpu);

}  // namespace foretrain
