#include "cost/forest.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace foretrain {
namespace {

bool sizes_agree(const ForestView& forest) {
  const std::size_t trees = forest.trees();
  const std::size_t splits = trees * ((std::size_t{1} << forest.depth) - 1);
  return forest.leaf.size() == trees << forest.depth && forest.split_feature.size() == splits &&
         forest.threshold.size() == splits;
}

// Adds the leaves that x reaches to `sum`, in tree order. A template so that the steps unroll; kAny serves
// the depths that are not worth a copy of the code.
constexpr int kAny = -1;

template <int kDepth>
float add_leaves(const ForestView& forest, const float* x, float sum) {
  constexpr std::size_t kAtOnce = 8;
  const int depth = kDepth == kAny ? forest.depth : kDepth;
  const std::size_t splits = (std::size_t{1} << depth) - 1;
  const std::size_t leaves = splits + 1;
  const std::uint8_t* feature = forest.split_feature.data();
  const float* threshold = forest.threshold.data();
  const float* leaf = forest.leaf.data();

  std::size_t left = forest.trees();
  for (; left >= kAtOnce; left -= kAtOnce) {
    std::size_t node[kAtOnce] = {};
#pragma GCC unroll 6
    for (int step = 0; step < depth; ++step)
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kAtOnce; ++k) {
        // For numbers `>=` is "not <"; the compiler adds its flag to the doubled index.
        const std::size_t at = k * splits + node[k];
        node[k] = 2 * node[k] + 1 + std::size_t{x[feature[at]] >= threshold[at]};
      }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kAtOnce; ++k) sum += leaf[k * leaves + node[k] - splits];
    feature += kAtOnce * splits;
    threshold += kAtOnce * splits;
    leaf += kAtOnce * leaves;
  }
  for (; left > 0; --left) {
    std::size_t node = 0;
    for (int step = 0; step < depth; ++step)
      node = 2 * node + 1 + std::size_t{x[feature[node]] >= threshold[node]};
    sum += leaf[node - splits];
    feature += splits;
    threshold += splits;
    leaf += leaves;
  }
  return sum;
}

}  // namespace

float ForestView::predict(std::span<const float> x) const {
  CHECK_THAT(x.size() == static_cast<std::size_t>(features));
  CHECK_THAT(depth >= 0 && depth <= kMaxForestDepth);
  CHECK_THAT(sizes_agree(*this));
  switch (depth) {
    case 3:
      return add_leaves<3>(*this, x.data(), base_score);
    case 4:
      return add_leaves<4>(*this, x.data(), base_score);
    case 5:
      return add_leaves<5>(*this, x.data(), base_score);
    case 6:
      return add_leaves<6>(*this, x.data(), base_score);
    default:
      return add_leaves<kAny>(*this, x.data(), base_score);
  }
}

bool well_formed(const ForestView& forest) {
  if (forest.depth < 0 || forest.depth > kMaxForestDepth) return false;
  if (forest.features < 0 || forest.features > kMaxForestFeatures) return false;
  return sizes_agree(forest) && std::isfinite(forest.base_score) &&
         std::ranges::all_of(forest.split_feature, [&](int feature) { return feature < forest.features; }) &&
         std::ranges::none_of(forest.threshold, [](float value) { return std::isnan(value); }) &&
         std::ranges::all_of(forest.leaf, [](float value) { return std::isfinite(value); });
}

ForestView Forest::view() const { return {depth, features, base_score, split_feature, threshold, leaf}; }

}  // namespace foretrain
