// What is done to gradients and weights: gradients added up over micro-batches, then once a step the
// optimizer's operators over lists of tensors.
#pragma once

#include <array>
#include <string_view>

#include "operators/operator.h"

namespace foretrain {

// A weight gradient added to what earlier micro-batches left, which takes grad_bytes an element.
struct GradientSizes {
  std::int64_t k = 0, n = 0, grad_bytes = 0;

  static constexpr std::array<std::string_view, 3> kNames = {"k", "n", "grad_bytes"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kAccumulate; }
  bool operator==(const GradientSizes&) const = default;
};
inline Operator accumulate(const GradientSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kAccumulate, sizes, way};
}

// Bytes an element of each state; 0: there is none.
struct StateWidths {
  std::int64_t grad = 0, weight = 0, moment = 0, master = 0;

  bool operator==(const StateWidths&) const = default;
};
inline constexpr StateWidths kMixedStates = {.grad = 4, .weight = 2, .moment = 4, .master = 4};
inline constexpr StateWidths kNarrowStates = {.grad = 2, .weight = 2, .moment = 2, .master = 0};

struct StateSizes {
  std::int64_t parameters = 0, tensors = 0;
  StateWidths widths;

  static constexpr std::array<std::string_view, 2> kNames = {"parameters", "tensors"};
  static constexpr bool of(OperatorKind kind) { return is_optimizer(kind); }
  bool operator==(const StateSizes&) const = default;
};
inline Operator optimizer(OperatorKind kind, const StateSizes& sizes,
                          const Variant& way = {.pass = PassKind::kStep}) {
  return {kind, sizes, way};
}

// The implementation that a model stands for: an update without a master copy is fused-bf16.
inline Impl impl_of(const Operator& op) {
  if (op.kind != OperatorKind::kAdamw || op.impl != Impl::kFused) return op.impl;
  return op.as<StateSizes>().widths.master == 0 ? Impl::kFusedBf16 : op.impl;
}

}  // namespace foretrain
