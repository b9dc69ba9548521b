// A part of a transformer block, as a framework runs it: a list of operators, each with what it has rows of, how wide
// its tensors are, when it is there at all, what it launches and what autograd keeps of it.
//
//   mlp: {swiglu: [{op: linear, in: hidden, out: gate_up, launches: [1, 1, 1], saves: [input]},
//                  {op: swiglu, impl: fused, width: ffn, launches: [1, 1], saves: [input]}, ...]}
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "spec/operator_kind.h"

namespace foretrain {

// How wide a tensor is for each token. An attention and a feed-forward say what the words mean for them, and
// which of the widths tensor parallelism divides (workload/widths.h).
enum class Width : unsigned char {
  kHidden,
  kQ,
  kKv,
  kQk,
  kQkv,
  kFfn,
  kGateUp,
  kVocab,
  kScores,
  kAttended,  // what attention makes and the projection reads
  kQRank,     // of latent attention: between the two products of queries
  kKvRank,    // the latent of keys and values
  kKvDown,    // with the key that all heads share
  kKvUp,      // what is made of the latent
  kQRope,     // the rotated part of queries, and of the shared key
  kKRope,
  kExperts,  // the router's logits
  kExpertFfn,
  kExpertGateUp,
  kOne,
  kJoined,  // two of the residual stream's, beside each other
  kRank,    // between the two products of an adapter; and what it reads and makes
  kAdapterIn,
  kAdapterOut,
};
inline constexpr int kWidthCount = 24;
inline constexpr std::array<std::string_view, kWidthCount> kWidthNames = {
    "hidden",         "q",     "kv",     "qk",       "qkv",        "ffn",
    "gate_up",        "vocab", "scores", "attended", "q_rank",     "kv_rank",
    "kv_down",        "kv_up", "q_rope", "k_rope",   "experts",    "expert_ffn",
    "expert_gate_up", "one",   "joined", "rank",     "adapter_in", "adapter_out"};
static_assert(kWidthNames.back() == "adapter_out");

// What an operator has rows of: tokens, the rows that tokens send to the experts of this rank, or all its experts'
// weights, `hidden` rows an expert.
enum class Rows : unsigned char { kTokens, kRouted, kWeights };
inline constexpr std::array<std::string_view, 3> kRowsNames = {"tokens", "routed", "weights"};

// When an operator is there at all: by what the model is, or whether it drops out.
enum class Condition : unsigned char {
  kAlways,
  kBias,
  kQkvBias,
  kProjectionBias,
  kDropout,
  kNoDropout,
  kFusedQkv,
  kSplitQkv,
  kGrouped,  // fewer heads of keys and values than of queries
  kLearnedPositions,
  kPartialRotary,
  kGeluErf,
  kGeluTanh,
  kQRank,  // latent attention makes queries by two products
  kNoQRank,
  kSharedGate,
  kLatent,
  kRouterFp32,  // the router's product is of fp32, or not
  kRouterHalf,
  kWeightsFp32,  // rows of experts are weighed in fp32, or not
  kWeightsHalf,
  kExchanged,     // experts lie on several ranks
  kPermuteFused,  // rows are moved to their experts by one kernel each way, or not
  kPermuteEager,
  kRouterFused,  // the router chooses and weighs by a few kernels, or not
  kRouterEager,
  kLossFused,  // the loss is a few kernels on logits as they are, or a chain in fp32
  kLossEager,
  kTrained,  // the model's own weights are trained, or adapters beside them alone
  kFrozen,
  kAdapterCast,  // what an adapter reads is cast to fp32 and, by autocast, back
  kAdapterFp32,  // adapters run in fp32
  kAdapterDropout,
};
inline constexpr std::array<std::string_view, 33> kConditionNames = {
    "always",       "bias",         "qkv_bias",       "projection_bias",   "dropout",        "no_dropout",
    "fused_qkv",    "split_qkv",    "grouped",        "learned_positions", "partial_rotary", "gelu_erf",
    "gelu_tanh",    "q_rank",       "no_q_rank",      "shared_gate",       "latent",         "router_fp32",
    "router_half",  "weights_fp32", "weights_half",   "exchanged",         "permute_fused",  "permute_eager",
    "router_fused", "router_eager", "loss_fused",     "loss_eager",        "trained",        "frozen",
    "adapter_cast", "adapter_fp32", "adapter_dropout"};

// What autograd keeps of an operator until its backward.
// (`input_copy`: the input in the format in which the weights' gradient takes it.)
enum class SavedTensor : unsigned char {
  kInput,
  kOutput,
  kMask,
  kStats,
  kInputFp32,
  kOutputFp32,
  kInputCopy,
  kInputFp8
};
inline constexpr std::array<std::string_view, 8> kSavedTensorNames = {
    "input", "output", "mask", "stats", "input_fp32", "output_fp32", "input_copy", "input_fp8"};

struct PartOperator {
  OperatorKind kind = OperatorKind::kAdd;
  Impl impl = Impl::kAten;
  Width in = Width::kHidden;
  Width out = Width::kHidden;  // equal to `in` but for linears, batched products and attention
  Condition when = Condition::kAlways;
  Rows rows = Rows::kTokens;
  bool each_expert = false;  // launched anew for every expert of the rank
  bool fp32 = false;         // in fp32, whatever the precision of the run
  std::int64_t times = 1;
  std::array<std::int64_t, 3> launches = {1, 1, 1};  // forward, backward, backward to weights
  // Forward, the host reads so often what these, or those before, have made: the GPU and it take turns.
  std::int64_t waits = 0;
  std::vector<SavedTensor> saves;
  // Most bytes an element that it holds while it runs, forward and backward, above what is saved (of which a
  // backward may have let some go by then). Absent: what its kind usually holds.
  std::optional<std::array<double, 2>> extra;
  bool selective = false;  // run again in the backward under selective recomputation
  // What is kept under selective recomputation, where that is neither all of `saves` nor nothing.
  std::optional<std::vector<SavedTensor>> selective_saves;

  bool operator==(const PartOperator&) const = default;
};
using Part = std::vector<PartOperator>;

}  // namespace foretrain
