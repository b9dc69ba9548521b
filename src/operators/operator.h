// One operator as it is launched: kind, implementation, direction, number format and sizes. It is a small
// value that compares and hashes, so that costs are memoised by shape.
//
// Sizes by kind (unused ones are 0):
//   linear           m, k, n             y[m,n] = x[m,k] w[k,n]
//   batched_product  batch, m, k, n
//   attention        batch, heads, kv_heads, seq, head_dim, causal
//   softmax          rows, columns
//   embedding        tokens, width, vocab
//   cross_entropy    tokens, vocab
//   grouped_product  experts, m, k, n    y[i] = x[i] w[e(i)], i of m rows, e(i) drawn at random, alike
//   permute          tokens, width, top_k
//   unpermute        tokens, width, top_k
//   route            tokens, experts, top_k
//   accumulate       k, n, bytes of the accumulated gradient
//   optimizer kinds  elements, tensors, bytes of: gradient, weight, moment, master (0: none)
//   all others       tokens, width
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "spec/dtype.h"
#include "spec/operator_kind.h"

namespace foretrain {

struct Operator {
  OperatorKind kind = OperatorKind::kLinear;
  Impl impl = Impl::kAten;
  PassKind pass = PassKind::kForward;
  Dtype dtype = Dtype::kBf16;
  std::int32_t launches = 1;  // kernels
  std::array<std::int64_t, 6> sizes{};

  bool operator==(const Operator&) const = default;
};

std::size_t hash_of(const Operator& op);

// The implementation that a model stands for: an update without a master copy is fused-bf16.
constexpr Impl impl_of(const Operator& op) {
  const bool all_bf16 = op.kind == OperatorKind::kAdamw && op.impl == Impl::kFused && op.sizes[5] == 0;
  return all_bf16 ? Impl::kFusedBf16 : op.impl;
}

constexpr bool is_product(OperatorKind kind) {
  return kind == OperatorKind::kLinear || kind == OperatorKind::kBatchedProduct ||
         kind == OperatorKind::kAttention || kind == OperatorKind::kGroupedProduct;
}

// Bytes of one of an optimizer's moments that is kept in `width` of them: eight bits need a scale, one of
// fp32 for 256 moments.
constexpr double moment_bytes(std::int64_t width) {
  return static_cast<double>(width) + (width == 1 ? 4.0 / 256 : 0.0);
}

// Kernels that it takes where neither a stack nor a sample says: those of PyTorch.
std::int32_t usual_launches(const Operator& op);

// Multiply-adds of products count two; pointwise arithmetic is not counted (it never binds).
Flops flops(const Operator& op);

// Bytes that cross the memory interface, each tensor once for each kernel that reads or writes it.
Bytes bytes(const Operator& op);

// How a kernel can load a row of so many elements: one at a time (0), two or four (1), or eight, 16 bytes
// (2). Libraries have fast kernels for the last alone.
int row_loads(std::int64_t elements);

// Of the rows in which an operator's tensors lie in memory: both sides of a product along which it does, the
// tensors of an optimizer (of several sizes, as models have them, they are taken to be even).
int row_loads(const Operator& op);

// Of those bytes, what passes through kernels that load one element at a time (one operand is broadcast or
// strided, or tensors are joined): elements, one for each such kernel that reads and writes it. They are
// bound by instructions, not by memory.
double scalar_elements(const Operator& op);

}  // namespace foretrain

template <>
struct std::hash<foretrain::Operator> {
  std::size_t operator()(const foretrain::Operator& op) const noexcept { return foretrain::hash_of(op); }
};
