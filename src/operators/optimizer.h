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

// Bytes of one of an optimizer's moments that is kept in `width` of them: eight bits need a scale, one of
// fp32 for 256 moments.
constexpr double moment_bytes(std::int64_t width) {
  return static_cast<double>(width) + (width == 1 ? 4.0 / 256 : 0.0);
}

// Whole bytes an element of each state (of a moment without its scale); 0: there is none.
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

// How PyTorch works off a list of tensors (MultiTensorApply.cuh of PyTorch 2), seen as steps in samples of
// PyTorch 2.11 on our H200: in chunks of 65,536 elements, a block each; a kernel takes at most 320 blocks
// and, as its arguments have to fit, 110 tensors of one list, 64 of two, 36 of four. A block goes through its
// chunk 2048 elements at a time, each time waiting for memory. An SM holds four blocks, of the fused AdamW
// two: then 320 are more than a wave, and a few of them run alone.
struct ListKernels {
  struct Wave {
    double count = 0, blocks = 0;  // so many waves of so many blocks
  };
  double kernels = 0;  // for one pass over the list
  double blocks = 0;
  double steps = 0;  // of a block, one after the other
  double waves = 0;
  std::array<Wave, 4> each{};  // of a full kernel and of the last: full waves, and what is left

  // All waves, none shorter than `waiting` or than its part of `stream`.
  double seconds(double waiting, double stream) const;
};
ListKernels list_kernels(const Operator& op, double sms);

}  // namespace foretrain
