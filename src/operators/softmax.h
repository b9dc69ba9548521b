// Softmax along rows: of attention scores, and of logits on the way to the loss.
#pragma once

#include <array>
#include <string_view>

#include "operators/operator.h"

namespace foretrain {

// Scale, causal mask and softmax in one kernel.
struct RowSizes {
  std::int64_t rows = 0, columns = 0;

  static constexpr std::array<std::string_view, 2> kNames = {"rows", "columns"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kSoftmax; }
  bool operator==(const RowSizes&) const = default;
};
inline Operator softmax(const RowSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kSoftmax, sizes, way};
}

struct LogitSizes {
  std::int64_t tokens = 0, vocab = 0;

  static constexpr std::array<std::string_view, 2> kNames = {"tokens", "vocab"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kCrossEntropy; }
  bool operator==(const LogitSizes&) const = default;
};
inline Operator cross_entropy(const LogitSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kCrossEntropy, sizes, way};
}

}  // namespace foretrain
