// Tiled attention: softmax(q k^T) v in one kernel.
#pragma once

#include <array>
#include <string_view>

#include "operators/operator.h"
#include "spec/gpu.h"

namespace foretrain {

// Queries, or keys, that a kernel works on at once.
inline constexpr std::int64_t kAttentionTile = 128;

// Which scores are made. `causal` 0: the whole square; 1: half of it; a larger number: as many for each query as
// causal sequences of so many tokens have, their span, whether these are shorter than `seq` (windows, documents)
// or longer (queries of a share of a sequence). That number is no size that samples state.
struct AttentionSizes {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, seq = 0, head_dim = 0;
  std::int64_t causal = 1;

  static constexpr std::array<std::string_view, 6> kNames = {"batch", "heads",    "kv_heads",
                                                             "seq",   "head_dim", "causal"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kAttention; }
  bool operator==(const AttentionSizes&) const = default;
};
// Values are narrower than queries and keys, of which there are as many heads; causal.
struct LatentAttentionSizes {
  std::int64_t batch = 0, heads = 0, seq = 0, qk_dim = 0, v_dim = 0;
  std::int64_t causal = 0;  // above 1: a span, likewise

  static constexpr std::array<std::string_view, 5> kNames = {"batch", "heads", "seq", "qk_dim", "v_dim"};
  static constexpr bool of(OperatorKind kind) { return kind == OperatorKind::kLatentAttention; }
  bool operator==(const LatentAttentionSizes&) const = default;
};

// The place of `causal` where sizes stand in a row.
inline constexpr std::size_t kCausalSize = 5;
static_assert(AttentionSizes::kNames[kCausalSize] == "causal");

inline Operator attention(const AttentionSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kAttention, sizes, way};
}

inline Operator latent_attention(const LatentAttentionSizes& sizes, const Variant& way = {}) {
  return {OperatorKind::kLatentAttention, sizes, way};
}

// Query heads that share one head of keys and values.
inline double query_groups(const Operator& attention) {
  const auto sizes = attention.as<AttentionSizes>();
  return static_cast<double>(sizes.heads) / static_cast<double>(sizes.kv_heads);
}

// Of attention with a span: whole causal sequences of that length, as many as have about its tokens, and its
// tokens over theirs. Its time is theirs in that proportion.
struct WholeSequences {
  Operator op;
  double share = 1;
};
bool has_span(const Operator& op);
WholeSequences whole_sequences(const Operator& op);

// What a kernel's head_dim is padded to.
std::int64_t padded_head_dim(std::int64_t head_dim);

// The kernel of attention that an implementation comes to on a GPU: flash, sdpa or triton. cuDNN's and FlashAttention
// 3's are sdpa, the best there are, on Hopper and later (Shah et al. 2024, arXiv 2407.08608, figures 5 and 6: level
// with each other), and no better than FlashAttention 2 before; a framework that takes FlashAttention 2 first has
// cuDNN's on Blackwell alone.
Impl attention_kernel(Impl impl, const Gpu& gpu);

}  // namespace foretrain
