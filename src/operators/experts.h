// What mixtures of experts add beside grouped products (product.h): choosing experts, and sending rows there
// and back.
#pragma once

#include <array>
#include <string_view>

#include "operators/operator.h"

namespace foretrain {

// Permute: each token's row to its top_k places, in order of experts. Unpermute: a token's top_k rows,
// weighed and summed.
struct SentSizes {
  std::int64_t tokens = 0, width = 0, top_k = 0;

  static constexpr std::array<std::string_view, 3> kNames = {"tokens", "width", "top_k"};
  static constexpr bool of(OperatorKind kind) {
    return kind == OperatorKind::kPermute || kind == OperatorKind::kUnpermute;
  }
  bool operator==(const SentSizes&) const = default;
};
inline Operator permute(const SentSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kPermute, sizes, way};
}
inline Operator unpermute(const SentSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kUnpermute, sizes, way};
}

// From the router's logits to weights, counts and the order.
struct RouteSizes {
  std::int64_t tokens = 0, experts = 0, top_k = 0;

  static constexpr std::array<std::string_view, 3> kNames = {"tokens", "experts", "top_k"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kRoute; }
  bool operator==(const RouteSizes&) const = default;
};
inline Operator route(const RouteSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kRoute, sizes, way};
}

}  // namespace foretrain
