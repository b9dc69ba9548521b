// The fields of a model, in the order in which its text states them: of the model as a whole, of its blocks,
// and of the pattern in which blocks of several kinds follow one another.
#pragma once

#include "spec/field.h"
#include "spec/model.h"

namespace foretrain {

inline constexpr std::int64_t kMaxWidth = 1'000'000;
inline constexpr std::int64_t kMaxLayers = 10'000;
inline constexpr std::int64_t kMaxHeads = 10'000;
inline constexpr std::int64_t kMaxHeadDim = 10'000;
inline constexpr std::int64_t kMaxExperts = 10'000;
inline constexpr std::int64_t kMaxVocab = 100'000'000;
inline constexpr std::int64_t kMaxSeq = 100'000'000;
// Bytes of weights and states then stay below 2^53, where doubles are exact. The limits above keep the count
// itself inside 64 bits.
inline constexpr std::int64_t kMaxParameters = 1'000'000'000'000'000;

// true and false, or a word for what is neither.
struct FlagOrWord {
  std::span<const std::string_view> names;  // by the enum's number
};

inline constexpr std::string_view kRequired = "required";

inline constexpr auto kModelFields = std::tuple{
    field("name", &Model::name, FreeText{}, "", "the file's name; `inline` in place"),
    field("source", &Model::source, FreeText{}, "where the figures come from", "empty"),
    field("hidden", &Model::hidden, WholeNumber{1, kMaxWidth}, "width of the residual stream", kRequired),
    field("norm", &Model::norm, OneOf{kNormNames}, "", kRequired),
    field("post_norms", &Model::post_norms, Flag{},
          "what attention and feed-forward make is normed too, before it is added (Gemma 2)"),
    field("positions", &Model::positions, OneOf{kPositionsNames}, "", kRequired),
    field("rotary_fraction", &Model::rotary_fraction, RealNumber{0.0, 1.0},
          "share of each head that rope turns", "1.0"),
    field("max_positions", &Model::max_positions, WholeNumber{1, kMaxSeq}, "rows of a learned table",
          "seq; required for `learned` without it"),
    field("vocab", &Model::vocab, WholeNumber{1, kMaxVocab}, "as stored, before padding to tp", kRequired),
    field("tied", &Model::tied, Flag{}, "head and embedding share weights", kRequired),
    field("biases", &Model::biases, Flag{}, "MLP, experts and router have biases"),
    field("qkv_bias", &Model::qkv_bias, Flag{}, "query, key and value have biases", "as `biases`"),
    field("projection_bias", &Model::projection_bias, Flag{}, "attention's projection has a bias",
          "as `biases`"),
    field("head_bias", &Model::head_bias, Flag{}, "the product that makes logits has a bias (GPT-J, Phi)"),
    field("norm_bias", &Model::norm_bias, Flag{}, "norms have biases",
          "as `biases` for layernorm, false for rmsnorm", "rmsnorm has none"),
    field("norm_weights", &Model::norm_weights, Flag{}, "norms have weights (OLMo's have none)", "true"),
    field("one_norm", &Model::one_norm, Flag{},
          "attention and MLP read one norm (GPT-J, Falcon-7B, Phi, Cohere)", "false",
          "needs residual: parallel"),
    field("fused_qkv", &Model::fused_qkv, Flag{}, "query, key and value are stored as one matrix",
          "true for layernorm (GPT-2, GPT-NeoX, BLOOM), false for rmsnorm (Llama, Qwen, Mistral)"),
    field("gelu", &Model::gelu, OneOf{kGeluNames},
          "by the error function, or its tanh approximation; a stack may run them by other kernels",
          "tanh with learned positions (GPT-2), else erf"),
    field("embedding_norm", &Model::embedding_norm, Flag{}, "a norm after the embedding"),
    field("residual", &Model::residual, OneOf{kResidualNames}, "`parallel`: attention and MLP from one input",
          "sequential"),
    field("dropout", &Model::dropout, RealNumber{0.0, 0.99}, "probability; only whether it is 0 matters",
          "the stack's"),
    field("mtp_layers", &Model::mtp_layers, WholeNumber{0, 100},
          "layers that predict tokens further on (DeepSeek-V3's multi-token prediction)"),
    field("seq", &Model::default_seq, WholeNumber{1, kMaxSeq}, "sequence length where a run states none",
          "none"),
    field("params", &Model::stated_params, WholeNumber{1, kMaxParameters},
          "stated count; refused where the other keys give another", "not checked"),
};

inline constexpr auto kAttentionFields = std::tuple{
    field("heads", &Attention::heads, WholeNumber{1, kMaxHeads}, "query heads", kRequired),
    field("kv_heads", &Attention::kv_heads, WholeNumber{1, kMaxHeads}, "key and value heads", "heads",
          "divides heads"),
    field("head_dim", &Attention::head_dim, WholeNumber{1, kMaxHeadDim}, "width of a head",
          "hidden / heads, which must divide"),
    field("qk_norm", &Attention::qk_norm, FlagOrWord{kQkNormNames},
          "query and key pass a norm before they are rotated: each head (Qwen3), `own`, each by weights of "
          "its own (StableLM 2 12B), or, `whole`, all heads at once (OLMoE)",
          "false"),
    field("window", &Attention::window, WholeNumber{0, kMaxSeq},
          "keys that a query sees, itself among them; 0: all before it"),
    field("sinks", &Attention::sinks, Flag{}, "a trained logit a head takes part in the softmax (GPT-OSS)"),
    field("q_rank", &Attention::q_rank, WholeNumber{0, kMaxWidth},
          "of latent attention: width between the two products that make queries; 0: there is one"),
    field("kv_rank", &Attention::kv_rank, WholeNumber{0, kMaxWidth},
          "width of the latent that keys and values are made from; above 0 it is latent attention (MLA)"),
    field("nope_dim", &Attention::nope_dim, WholeNumber{0, kMaxHeadDim},
          "of latent attention: width of the part of a head that is not rotated", "required with kv_rank",
          "needs kv_rank"),
    field("rope_dim", &Attention::rope_dim, WholeNumber{0, kMaxHeadDim},
          "and of the part that is, whose key all heads share", "required with kv_rank", "needs kv_rank"),
    field("v_dim", &Attention::v_dim, WholeNumber{0, kMaxHeadDim}, "and of a value", "required with kv_rank",
          "needs kv_rank"),
};

inline constexpr auto kFeedForwardFields = std::tuple{
    field("ffn", &FeedForward::ffn, WholeNumber{1, kMaxWidth}, "width of a dense MLP",
          "required where a layer has one"),
    field("mlp", &FeedForward::mlp, OneOf{kMlpNames},
          "`gelu`, `squared_relu` have two matrices, `swiglu`, `geglu` three", kRequired),
    field("trained_activation", &FeedForward::trained_activation, Flag{},
          "two trained numbers shape a dense MLP's activation (xIELU: Apertus)"),
    field("experts", &FeedForward::experts, WholeNumber{0, kMaxExperts}, "experts of a layer; 0: none"),
    field("top_k", &FeedForward::top_k, WholeNumber{1, kMaxExperts}, "experts that a token passes",
          "required with experts", "1 to experts"),
    field("routing_groups", &FeedForward::routing_groups, WholeNumber{0, kMaxExperts},
          "groups of neighbouring experts; 0: one", {}, "divides experts"),
    field("group_limit", &FeedForward::group_limit, WholeNumber{0, kMaxExperts},
          "of these, how many a token's experts are taken from (DeepSeek-V3: 4 of 8); 0: all", {},
          "needs routing_groups; top_k must fit into so many"),
    field("expert_ffn", &FeedForward::expert_ffn, WholeNumber{1, kMaxWidth}, "width of an expert",
          "required with experts"),
    field("router", &FeedForward::router, OneOf{kRouterNames},
          "format in which the router chooses and weighs: both in `half` precision (Qwen MoE), weights alone "
          "in fp32 (Mixtral), or both in `fp32` (DeepSeek-V3); a stack may have its own way"),
    field("shared_ffn", &FeedForward::shared_ffn, WholeNumber{0, kMaxWidth},
          "width of what all tokens pass beside the experts, all shared experts together"),
    field("shared_gate", &FeedForward::shared_gate, Flag{},
          "each token weighs what the shared experts make (Qwen2-MoE)"),
    field("balancing_bias", &FeedForward::balancing_bias, Flag{},
          "a number an expert that balances their load without a gradient (DeepSeek-V3); counted as "
          "checkpoints hold it"),
};

// Which layers are of which kind.
struct LayerPattern {
  std::int64_t layers = 0;
  std::int64_t dense_layers = 0;
  std::int64_t expert_every = 1;
  std::int64_t full_every = 0;
};
inline constexpr auto kPatternFields = std::tuple{
    field("layers", &LayerPattern::layers, WholeNumber{1, kMaxLayers}, "blocks in all",
          "required without `blocks`"),
    field("dense_layers", &LayerPattern::dense_layers, WholeNumber{0, kMaxLayers},
          "the first so many layers have a dense MLP instead of experts (DeepSeek)"),
    field("expert_every", &LayerPattern::expert_every, WholeNumber{1, kMaxLayers},
          "of the others each n-th layer has experts, the rest a dense MLP (Llama 4)"),
    field("full_every", &LayerPattern::full_every, WholeNumber{0, kMaxLayers},
          "each n-th layer has no window (Gemma 3: 6); 0: all layers have the window that is stated"),
};

}  // namespace foretrain
