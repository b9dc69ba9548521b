// Products: of a matrix of weights, of a batch, of experts.
#pragma once

#include <array>
#include <string_view>

#include "operators/operator.h"

namespace foretrain {

// y[m,n] = x[m,k] w[k,n].
struct LinearSizes {
  std::int64_t m = 0, k = 0, n = 0;

  static constexpr std::array<std::string_view, 3> kNames = {"m", "k", "n"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kLinear; }
  bool operator==(const LinearSizes&) const = default;
};
inline Operator linear(const LinearSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kLinear, sizes, way};
}

// Attention scores and values, unfused.
struct BatchedSizes {
  std::int64_t batch = 0, m = 0, k = 0, n = 0;

  static constexpr std::array<std::string_view, 4> kNames = {"batch", "m", "k", "n"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kBatchedProduct; }
  bool operator==(const BatchedSizes&) const = default;
};
inline Operator batched_product(const BatchedSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kBatchedProduct, sizes, way};
}

// y[i] = x[i] w[e(i)], i of m rows in all, e(i) of the experts, drawn at random, alike.
struct GroupedSizes {
  std::int64_t experts = 0, m = 0, k = 0, n = 0;

  static constexpr std::array<std::string_view, 4> kNames = {"experts", "m", "k", "n"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kGroupedProduct; }
  bool operator==(const GroupedSizes&) const = default;
};
inline Operator grouped_product(const GroupedSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kGroupedProduct, sizes, way};
}

}  // namespace foretrain
