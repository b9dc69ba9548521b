// The attention of a block. Grouped-query attention has heads of queries, fewer heads of keys and values that
// groups of them share, and one width for all. Latent attention (MLA; DeepSeek-AI 2024, arXiv 2405.04434)
// makes keys and values from a narrow latent: heads of queries and keys have a part that is rotated, whose
// key all heads share, and one that is not, and values have a width of their own.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace foretrain {

// A norm of queries and keys before they are rotated: of each head, by weights that all heads share (Qwen3) or by each head's
// own, without biases (StableLM 2 12B, Command R+); or over all heads at once (OLMoE).
enum class QkNorm : unsigned char { kNone, kHead, kOwnHead, kWhole };
inline constexpr std::array<std::string_view, 4> kQkNormNames = {"false", "true", "own", "whole"};

struct Attention {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  // of queries and keys; of latent attention nope_dim + rope_dim
  QkNorm qk_norm = QkNorm::kNone;
  std::int64_t window = 0;  // keys that a query sees, itself among them; 0: all before it
  bool sinks = false;       // a trained logit a head takes part in the softmax (GPT-OSS)
  // Of latent attention alone; kv_rank 0: it is not.
  std::int64_t q_rank = 0;  // 0: queries are made from the input at once
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0;
  std::int64_t rope_dim = 0;
  std::int64_t v_dim = 0;

  bool is_latent() const { return kv_rank > 0; }
  std::int64_t q_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  // What the projection reads.
  std::int64_t out_width() const { return heads * (is_latent() ? v_dim : head_dim); }
  bool operator==(const Attention&) const = default;
};

// Trained numbers: matrices, biases of queries, keys and values and of the projection, norms inside.
struct AttentionBiases {
  bool qkv = false;
  bool projection = false;
  bool norm = false;
};
std::int64_t attention_parameters(const Attention& attention, std::int64_t hidden,
                                  const AttentionBiases& biases);

}  // namespace foretrain
