// One operator as it is launched: kind, implementation, direction, number format and sizes. It is a small
// value that compares and hashes, so that costs are memoised by shape.
//
// Its sizes are six whole numbers in a row, unused ones 0, whose names each family knows:
//   product.h     linear, batched_product, grouped_product
//   attention.h   attention
//   norm.h        layernorm, rmsnorm
//   softmax.h     softmax, cross_entropy
//   pointwise.h   rope, gelu and its like, add, bias, dropout, copy, masked_fill: tokens x width
//   embedding.h   embedding
//   experts.h     permute, unpermute, route
//   optimizer.h   accumulate, and what runs once a step
//   dequantise.h  dequantise
//   quantise.h    quantise, amax, transpose
//
// Example: linear({.m = 8192, .k = 4096, .n = 11008}, {.pass = PassKind::kInput}).as<LinearSizes>().n
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "spec/dtype.h"
#include "spec/operator_kind.h"

namespace foretrain {

inline constexpr std::size_t kMaxSizes = 6;
using FlatSizes = std::array<std::int64_t, kMaxSizes>;

// How an operator is run, whatever its sizes.
struct Variant {
  Impl impl = Impl::kAten;
  PassKind pass = PassKind::kForward;
  Dtype dtype = Dtype::kBf16;
  std::int32_t launches = 1;  // kernels
};

struct Operator {
  OperatorKind kind = OperatorKind::kLinear;
  Impl impl = Impl::kAten;
  PassKind pass = PassKind::kForward;
  Dtype dtype = Dtype::kBf16;
  std::int32_t launches = 1;  // kernels

  Operator() = default;
  template <class Sizes>
  Operator(OperatorKind of, const Sizes& named, const Variant& way)
      : kind(of), impl(way.impl), pass(way.pass), dtype(way.dtype), launches(way.launches) {
    set(named);
  }

  // The sizes by name. REQUIRES: Sizes::of(kind).
  template <class Sizes>
  Sizes as() const {
    CHECK_THAT(Sizes::of(kind));
    std::array<std::int64_t, sizeof(Sizes) / sizeof(std::int64_t)> first;
    std::copy_n(sizes_.begin(), first.size(), first.begin());
    return std::bit_cast<Sizes>(first);
  }
  template <class Sizes>
  void set(const Sizes& named) {
    CHECK_THAT(Sizes::of(kind));
    const auto first = std::bit_cast<std::array<std::int64_t, sizeof(Sizes) / sizeof(std::int64_t)>>(named);
    sizes_ = {};
    std::copy(first.begin(), first.end(), sizes_.begin());
  }

  // All of them alike, for what goes through sizes without asking what they mean.
  const FlatSizes& flat() const { return sizes_; }
  void set_flat(const FlatSizes& sizes) { sizes_ = sizes; }

  bool operator==(const Operator&) const = default;

 private:
  FlatSizes sizes_{};
};

std::size_t hash_of(const Operator& op);

inline bool is_forward(const Operator& op) { return op.pass == PassKind::kForward; }
inline bool is_eager(const Operator& op) { return op.impl == Impl::kEager; }

constexpr bool is_product(OperatorKind kind) {
  return kind == OperatorKind::kLinear || kind == OperatorKind::kBatchedProduct || is_attention(kind) ||
         kind == OperatorKind::kGroupedProduct;
}

// Kernels that it takes where neither a stack nor a sample says: those of PyTorch. Of eager chains what its profiler counted on
// an H200 (profiles/h200-141gb-sxm/README.md), fills and copies among them; a published trace of a model of transformers on an
// MI300X (AMD-AGI/TraceLens) has as many forward: 8 a norm, 10 a rotation of queries and keys, 2 a gated activation.
std::int32_t usual_launches(const Operator& op);

// Multiply-adds of products count two; pointwise arithmetic is not counted (it never binds).
Flops flops(const Operator& op);

// Of those, what the model defines, whatever implements it: flash attention's backward makes the scores again
// (four products of five count), and of unfused attention's full squares the causal mask keeps a half.
double useful_share(const Operator& op);

// Bytes that cross the memory interface, each tensor once for each kernel that reads or writes it.
Bytes bytes(const Operator& op);

// The same with each operand once, whatever the implementation: no kernel does with less.
double least_bytes(const Operator& op);

// How a kernel can load a row of so many elements: one at a time (0), two or four (1), or eight, 16 bytes
// (2). Libraries have fast kernels for the last alone.
int row_loads(std::int64_t elements);

// Of the rows in which an operator's tensors lie in memory: both sides of a product along which it does, the
// tensors of an optimizer (of several sizes, as models have them, they are taken to be even).
int row_loads(const Operator& op);

// Elements of a row that is padded to 16 bytes of half precision.
constexpr std::int64_t aligned_row(std::int64_t elements) { return (elements + 7) / 8 * 8; }

// The same product or attention with such rows: the kernels' fast path, padded by as little as can be. The
// operator itself where its rows are so already, where they are not of half precision, and where it is neither.
Operator with_aligned_rows(const Operator& op);

// Of those bytes, what passes through kernels that load one element at a time (one operand is broadcast or
// strided, or tensors are joined): elements, one for each such kernel that reads and writes it. They are
// bound by instructions, not by memory.
double scalar_elements(const Operator& op);

// The largest tensor that it makes.
Bytes made_bytes(const Operator& op);

// What it needs beside saved tensors while it runs: what it makes and, backward, the gradient that comes in.
Bytes working_bytes(const Operator& op);

}  // namespace foretrain

template <>
struct std::hash<foretrain::Operator> {
  std::size_t operator()(const foretrain::Operator& op) const noexcept { return foretrain::hash_of(op); }
};
