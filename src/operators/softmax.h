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

// How PyTorch lays rows over threads (SoftMax.cu of PyTorch 2), seen as steps in samples of PyTorch 2.11 on
// our H200: up to 2048 columns a warp holds a row, padded to a power of two; up to 9 * 1024 a block of 1024
// threads holds it in registers, one element a load; then in 48 KiB of shared memory; a longer one is read
// three times. Backward a warp holds up to 1024, and no registers. With over six registers of values a thread
// one block fits an SM instead of two.
struct SoftmaxRow {
  enum class Kind : unsigned char { kWarp, kRegisters, kShared, kStreamed } kind = Kind::kWarp;
  double padded = 0;     // columns as a warp holds them
  double registers = 0;  // values a thread of a block holds
  double blocks = 2;     // that an SM holds
  double rest = 0;       // steps of single elements after the last whole round of eight a thread
};
SoftmaxRow softmax_row(double columns, double element_bytes, bool forward = true);

}  // namespace foretrain
