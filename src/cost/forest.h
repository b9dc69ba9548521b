// Boosted trees in a flat layout, evaluated in place.
//
// A tree of depth d is a complete binary heap: 2^d - 1 inner nodes (feature, threshold) and 2^d leaves; node
// i has the children 2i + 1 and 2i + 2. x < threshold goes left, as in XGBoost. A branch that ends early is
// continued with thresholds of +infinity and its one value in all leaves below, so that every walk takes d
// steps without a test for leaves. The sum starts at the base score and adds in tree order in float, so it is
// bit-equal to XGBoost's own prediction. Eight trees are walked at once to hide the latency of their loads:
// 500 trees of depth 4 take about a microsecond (bench/forest_bench.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace foretrain {

inline constexpr std::int32_t kMaxForestDepth = 12;
inline constexpr std::int32_t kMaxForestFeatures = 256;  // a split names its feature in one byte

// A view: whoever owns the bytes (a profile file, mapped or embedded) outlives it.
struct ForestView {
  std::int32_t depth = 0;
  std::int32_t features = 0;
  float base_score = 0.0f;
  std::span<const std::uint8_t> split_feature;  // tree-major, (2^depth - 1) a tree
  std::span<const float> threshold;             // likewise
  std::span<const float> leaf;                  // 2^depth a tree

  std::size_t trees() const { return leaf.size() >> depth; }

  // `x` holds `features` values. Only for a view that is well_formed(): the features of the splits are not
  // looked at again.
  float predict(std::span<const float> x) const;
};

// Whether predict() is safe and finite on this view: depth and features within bounds, sizes that agree,
// splits on features that exist, no threshold NaN, base score and leaves finite. Whoever reads a forest from
// a file asks first.
bool well_formed(const ForestView& forest);

// The same with its own storage, as fitting makes it.
struct Forest {
  std::int32_t depth = 0;
  std::int32_t features = 0;
  float base_score = 0.0f;
  std::vector<std::uint8_t> split_feature;
  std::vector<float> threshold;
  std::vector<float> leaf;

  ForestView view() const;
  bool operator==(const Forest&) const = default;
};

}  // namespace foretrain
