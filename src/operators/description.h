// What is known of one kind of operator before anybody times it. Each family describes its kinds in a table
// of its own file; all that asks about an operator goes through description(), by its kind. A field that a
// family leaves out says what most operators do.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "base/result.h"
#include "operators/operator.h"
#include "operators/terms.h"
#include "spec/gpu.h"

namespace foretrain {

// Another implementation, maybe of another kind, with kernels alike: it lends its efficiency to one that was
// not sampled.
struct Relative {
  Impl impl;
  OperatorKind of_kind;
  Impl of_impl;
  // The relative's sizes, where they are not the operator's own; null: they are.
  void (*set_sizes)(const Operator& op, Operator& relative) = nullptr;
};

struct Description {
  OperatorKind kind;

  // Words (operator_text.h).
  std::span<const std::string_view> size_names;
  Impl usual_impl = Impl::kFused;  // as current frameworks run it
  Dtype usual_dtype = Dtype::kBf16;
  bool has_weight = false;           // the gradients of its input and of its weight are passes of their own
  std::string_view eager_word = {};  // by which samples name its eager chain, too
  void (*set_impl)(Operator& op) = nullptr;  // what else the word of an implementation says; null: nothing
  // Sizes that may be left out; null: none. It sets them, and marks them as given.
  void (*set_defaults)(Operator& op, std::span<bool> given) = nullptr;
  // What each size alone cannot tell; null: any will do.
  Result<void> (*check_sizes)(const Operator& op, const Position& at) = nullptr;

  // Work (operator.h).
  Flops (*flops)(const Operator& op) = nullptr;                  // null: none
  double (*useful_share)(const Operator& op) = nullptr;          // null: all of them
  Bytes (*bytes)(const Operator& op) = nullptr;                  // always there
  std::int32_t (*usual_launches)(const Operator& op) = nullptr;  // null: one
  int (*row_loads)(const Operator& op) = nullptr;                // null: of rows of the second size
  void (*align_rows)(Operator& op) = nullptr;  // makes them multiples of 16 bytes; null: they are as they are
  double (*scalar_elements)(const Operator& op) = nullptr;  // null: none
  double (*least_bytes)(const Operator& op) = nullptr;      // null: those of the fused kernel

  // The largest tensor that it makes, and what it needs beside saved tensors while it runs. Null: a tensor of
  // the first two sizes; that, backward the gradient that comes in, and one more in an eager chain.
  Bytes (*made_bytes)(const Operator& op) = nullptr;
  Bytes (*working_bytes)(const Operator& op) = nullptr;

  // Time from samples (terms.h). Null: those that all light operators share (light.h).
  void (*add_terms)(Terms& terms, const Operator& op, const Gpu& gpu) = nullptr;
  void (*add_features)(Features& features, const Operator& op, const Gpu& gpu) = nullptr;
  bool pools_passes = false;              // one model may stand for all of its passes
  bool sampled_without_autograd = false;  // its backward is timed as a plain call
  std::span<const Relative> relatives = {};

  // Time without samples (cost/analytic.h). The shares are what its kernels reach of a long stream's
  // bandwidth: as one kernel, by library kernels in a row (0: as one), and by an eager chain, whose bytes are
  // counted as measured, kernel by kernel. The spread is assumed where nothing else is said.
  Seconds (*compute_time)(const Operator& op, const Gpu& gpu) = nullptr;  // null: none
  double stream_share = 0.95;
  double library_share = 0;
  double eager_share = 1.0;
  double analytic_spread = 0.25;
};

const Description& description(OperatorKind kind);

// The families.
extern const std::span<const Description> kProducts, kAttentions, kNorms, kSoftmaxes, kPointwise, kEmbeddings,
    kOfExperts, kOptimizers, kQuantised, kOfFormats;

// The first sizes as numbers to calculate with, to be named at once:
//   const auto [m, k, n] = real_sizes<3>(op);
template <std::size_t N>
std::array<double, N> real_sizes(const Operator& op) {
  std::array<double, N> sizes;
  for (std::size_t i = 0; i < N; ++i) sizes[i] = static_cast<double>(op.flat()[i]);
  return sizes;
}

}  // namespace foretrain
