// What a plan chooses, with everything filled in that it leaves to its stack: decided here, and nowhere else.
// A fixed number of bytes, made without allocation, as a search makes one for every plan it looks at.
#pragma once

#include <cstdint>
#include <optional>

#include "job/mesh.h"
#include "job/precision.h"
#include "spec/model.h"
#include "spec/plan.h"
#include "spec/stack.h"

namespace foretrain {

// What ZeRO 2 and 3 do inside passes, unit by unit (a block, the embedding, the head): gather weights before
// the work, scatter the sums of gradients after it.
struct UnitSharding {
  bool gathers_forward = false;
  bool gathers_backward = false;
  bool keeps_gathered = false;  // weights that are sharded stay gathered from forward to backward
  bool scatters = false;
  bool beside = false;                   // scatters do not stop compute
  ByClass<std::int64_t> shards{{1, 1}};  // ranks that share a copy
  ByClass<bool> replicated;              // there are several copies, whose gradients are summed too
  Dtype reduce_dtype = Dtype::kFp32;

  bool operator==(const UnitSharding&) const = default;
};

// What ZeRO divides, and how the shares come together again.
struct Sharding {
  int zero = 0;
  ByClass<std::int64_t> shards{{1, 1}};  // ranks that share one copy of it; 1: nothing is divided
  bool reduces_to_shard = false;  // ZeRO 1, after the backward: a rank gets the sums of its share alone
  bool gathers_by_step = false;   // updated weights are put together once a step
  UnitSharding units;             // nothing below ZeRO 2

  bool operator==(const Sharding&) const = default;
};

// What is done with experts, and with the tokens that they get. Where the model has none, as at first.
struct ExpertChoices {
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  Dtype dispatch_dtype = Dtype::kBf16;
  double rows = 1;            // of the fullest rank's experts, over the mean
  bool syncs = false;         // the host waits for the router's counts
  bool reads = false;         // and for whatever else it reads of what experts' operators make
  bool permute_fused = true;  // rows are moved by one kernel each way
  bool router_fused = false;  // the router chooses and weighs by a few kernels
  bool guessed = false;       // how tokens are routed is not stated
  bool hidden = false;        // tokens travel beside the work of another micro-batch
  bool beside = false;        // and shared experts work meanwhile

  bool operator==(const ExpertChoices&) const = default;
};

// How the head and the loss are worked off.
struct LossChoices {
  LossKind kind = LossKind::kWhole;
  std::int64_t chunks = 1;    // 0: Liger's rule
  bool keeps_logits = false;  // of kChunked
  bool fused = false;         // a few kernels on logits as they are, where the stack tells

  // A piece's gradients are made in the forward.
  bool early() const { return kind == LossKind::kFused || (kind == LossKind::kChunked && !keeps_logits); }
  bool operator==(const LossChoices&) const = default;
};

// What context ranks do to attend to one another's tokens. Where there is one alone, as at first.
struct ContextChoices {
  CpType type = CpType::kP2p;
  std::int64_t ranks = 1;   // each has this part of the tokens
  std::int64_t a2a = 1;     // of them, those that exchange heads for tokens
  bool repeats_kv = false;  // keys and values travel once for each query head

  // Ranks round which keys and values go; and those that gather them instead.
  constexpr std::int64_t ring() const { return type == CpType::kAllGather ? 1 : ranks / a2a; }
  constexpr std::int64_t gathering() const { return type == CpType::kAllGather ? ranks : 1; }
  // Where they exchange.
  constexpr GroupKind a2a_group() const {
    return a2a == ranks ? GroupKind::kContext : GroupKind::kContextInner;
  }
  constexpr GroupKind ring_group() const { return a2a == 1 ? GroupKind::kContext : GroupKind::kContextRing; }

  bool operator==(const ContextChoices&) const = default;
};

// What fine-tuning trains beside frozen weights, and how these lie. Without a rank nothing is frozen.
struct AdapterChoices {
  std::int64_t rank = 0;
  LoraTargets targets;
  Dtype dtype = Dtype::kBf16;
  bool fp32 = false;   // their products run in it
  bool casts = false;  // or in the precision, by casts of what they read and of themselves
  bool dropout = false;
  BaseFormat base = BaseFormat::kBf16;  // kBf16: in the precision
  bool double_quant = false;

  bool frozen() const { return rank > 0; }
  bool quantised() const { return base != BaseFormat::kBf16; }
  bool operator==(const AdapterChoices&) const = default;
};

// What is captured as CUDA graphs.
struct GraphChoices {
  GraphModules scope;  // as asked for
  // What that means for a layer: `layer` and `full` are all of it.
  bool attention = false;
  bool mlp = false;
  bool experts = false;
  bool router = false;
  bool preprocess = false;
  bool step = false;       // one graph of all passes
  bool optimizer = false;  // and of the update
  bool copies_inputs = false;

  bool any() const { return !scope.empty(); }
  bool operator==(const GraphChoices&) const = default;
};

struct Choices {
  Described described = Described::kAssumed;  // how well the stack is known
  AttentionKind attention = AttentionKind::kFlash;
  std::optional<AttentionKernel> attention_kernel;  // not the stack's own
  ExpertProducts expert_products = ExpertProducts::kGrouped;
  bool dropout = false;  // is asked for, whether or not the stack has it
  bool sp = false;
  // As asked for: see Job for whether they have an effect.
  bool sp_gather_again = false;
  bool tp_overlap = false;  // of sp
  bool partition_activations = false;
  Recompute recompute = Recompute::kNone;
  std::int64_t recompute_layers = 0;  // of recompute full; 0: all
  RecomputeModules modules;           // of recompute selective; else empty
  LossChoices loss;
  std::int64_t mlp_chunks = 1;
  bool offload = false;
  bool stores_activation = false;  // what a gated activation read is kept in fp8

  // Formats by role.
  Dtype precision = Dtype::kBf16;      // of weights and activations in the passes
  LowPrecision low;                    // of products, where they are in fewer bits
  Dtype grad_dtype = Dtype::kFp32;     // gradients are accumulated in it
  Dtype reduce_dtype = Dtype::kFp32;   // and summed over data ranks in it
  Dtype trained_dtype = Dtype::kBf16;  // of the weights that are trained, as they are kept
  OptimizerKind optimizer = OptimizerKind::kAdamw;
  bool paged = false;
  bool offload_optimizer = false;
  bool master_weights = true;     // an fp32 copy of half precision weights is asked for
  bool keeps_master = true;       // and kept: weights that are fp32 anyway need none
  bool updates_fp32 = true;       // the update is of fp32 weights: that copy, or weights that are kept so
  std::int64_t moment_width = 4;  // of the optimizer's moments: see moment_bytes(), operators/optimizer.h

  AdapterChoices adapters;
  GraphChoices graphs;
  ExpertChoices experts;
  ContextChoices context;
  Sharding sharding;
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;

  bool operator==(const Choices&) const = default;
};
// Of a plan whose dp is known.
Choices choices_of(const Model& model, const Stack& stack, const Plan& plan);

// Rows of the fullest of several expert-parallel ranks over the mean, where nobody says how tokens are routed:
// published runs with natural routing are slower by a tenth or more than with forced, and about half of their
// time is in experts.
inline constexpr double kUsualImbalance = 1.2;

bool has_experts(const Model& model);

// The most that it can be: every token's experts on one rank.
double most_imbalance(const Model& model, std::int64_t ep);

// Whether the stack, or its users, can work the loss off so.
bool offers(const Stack& stack, LossKind kind);
GraphChoices graphs_of(const Stack& stack, const Plan& plan);
AdapterChoices adapters_of(const Stack& stack, const Plan& plan);

// The way of context parallelism that a plan with cp > 1 takes.
CpType cp_type_of(const Stack& stack, const Plan& plan);

// The implementation that a plan names.
constexpr Impl kernel_impl(AttentionKernel kernel) {
  return kernel == AttentionKernel::kFlash2   ? Impl::kFlash
         : kernel == AttentionKernel::kFlash3 ? Impl::kFlash3
                                              : Impl::kCudnn;
}

// Single choices, for who checks or lists plans that are not whole yet.
AttentionKind attention_of(const Stack& stack, const Plan& plan);
Sharding sharding_of(const Stack& stack, const Plan& plan);
std::int64_t mtp_layers_of(const Model& model, const Stack& stack);  // 0 where the stack has none
double dropout_of(const Model& model, const Stack& stack);           // 0 where the stack has none
bool leaves_dropout_out(const Model& model, const Stack& stack);     // which the model asks for
// Whether selective recomputation runs anything again; where not, it is the same as none.
bool repeats_selectively(const Model& model, const Stack& stack, const Plan& plan);

}  // namespace foretrain
