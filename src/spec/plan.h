// A plan: how one training run is laid over its GPUs. What a plan leaves open, its stack decides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/adapters.h"
#include "spec/cuda_graph.h"
#include "spec/dtype.h"
#include "spec/feed_forward.h"
#include "spec/recipe.h"
#include "spec/schedule_kind.h"

namespace foretrain {

enum class Recompute : unsigned char { kNone, kSelective, kFull };
inline constexpr std::array<std::string_view, 3> kRecomputeNames = {"none", "selective", "full"};
// What selective recomputation runs again, as Megatron names it.
enum class RecomputeModule : unsigned char {
  kCoreAttention,
  kMoeActivation,
  kLatentUp,
  kLayernorm,
  kMlp,
  kMoe,
  kSharedExperts,
};
inline constexpr std::array<std::string_view, 7> kRecomputeModuleNames = {
    "core_attn", "moe_act", "mla_up_proj", "layernorm", "mlp", "moe", "shared_experts"};
struct RecomputeModules {
  std::uint8_t bits = 0;

  constexpr bool has(RecomputeModule module) const { return (bits >> static_cast<int>(module) & 1) != 0; }
  constexpr void add(RecomputeModule module) {
    bits = static_cast<std::uint8_t>(bits | 1 << static_cast<int>(module));
  }
  constexpr bool empty() const { return bits == 0; }
  bool operator==(const RecomputeModules&) const = default;
};

// How tokens reach the ranks that hold their experts: every token to every rank; a copy for each expert
// (NCCL); one copy for each rank that holds any of them, by DeepEP's kernels or by HybridEP's.
enum class Dispatcher : unsigned char { kAllGather, kAllToAll, kDeepEp, kHybridEp };
inline constexpr int kDispatcherCount = 4;
inline constexpr std::array<std::string_view, kDispatcherCount> kDispatcherNames = {"allgather", "alltoall",
                                                                                    "deepep", "hybridep"};

// How ranks that share sequences attend to one another's tokens: keys and values go round a ring, block by
// block (Liu et al. 2023, arXiv 2310.01889); heads are exchanged for tokens by all-to-alls (DeepSpeed-Ulysses,
// arXiv 2309.14509); all keys and values are gathered (Llama 3, arXiv 2407.21783); all-to-alls among neighbours
// and a ring of those groups.
enum class CpType : unsigned char { kP2p, kA2a, kAllGather, kHierarchical };
inline constexpr int kCpTypeCount = 4;
inline constexpr std::array<std::string_view, kCpTypeCount> kCpTypeNames = {"p2p", "a2a", "allgather",
                                                                            "a2a+p2p"};

enum class AttentionKind : unsigned char { kFlash, kUnfused };
inline constexpr std::array<std::string_view, 2> kAttentionNames = {"flash", "unfused"};

// Whose tiled attention runs, where not the one that the stack names (spec/operator_kind.h).
enum class AttentionKernel : unsigned char { kFlash2, kFlash3, kCudnn };
inline constexpr std::array<std::string_view, 3> kAttentionKernelNames = {"flash2", "flash3", "cudnn"};

// How the head's product and the loss are worked off: for all tokens at once; in pieces of tokens, each with its
// backward right after its forward; or so with one kernel that puts the gradient where the logits were (Hsu et al.
// 2024, Liger Kernel, arXiv 2410.10989).
enum class LossKind : unsigned char { kWhole, kChunked, kFused };
inline constexpr std::array<std::string_view, 3> kLossNames = {"whole", "chunked", "fused"};

// Adam with moments in the stack's format, in bf16 or in eight bits (a byte each and an fp32 scale every 256:
// Dettmers et al. 2022, arXiv 2110.02861); Muon: one momentum for the blocks' matrices, AdamW for the rest.
enum class OptimizerKind : unsigned char { kAdamw, kAdamwBf16, kAdamw8bit, kMuon };
inline constexpr std::array<std::string_view, 4> kOptimizerNames = {"adamw", "adamw_bf16", "adamw_8bit",
                                                                    "muon"};

struct Plan {
  std::int64_t tp = 1;
  bool sp = false;
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  std::int64_t cp = 1;
  std::optional<CpType> cp_type;
  std::int64_t cp_a2a = 0;  // of cp_type a2a+p2p: neighbours that exchange heads for tokens; 0: not stated
  std::int64_t ep = 1;
  std::optional<std::int64_t> etp;  // tensor-parallel ranks of an expert; absent: tp
  std::int64_t dp = 0;              // 0: derived, gpus / (tp * pp * cp)
  int zero = 0;
  std::int64_t shard = 0;  // data-parallel ranks that share one copy of what ZeRO divides; 0: all
  std::int64_t micro_batch = 1;
  Recompute recompute = Recompute::kNone;
  std::int64_t recompute_layers = 0;   // of recompute=full: the first so many layers of each chunk; 0: all
  RecomputeModules recompute_modules;  // of recompute=selective; empty: core_attn
  ScheduleKind schedule = ScheduleKind::k1f1b;
  std::string precision = "bf16";        // a recipe of the stack: by its name, or by its family's word
  std::optional<bool> fp8_params;        // weights are kept in the products' format
  std::optional<LayerEnds> bf16_layers;  // layers that stay in the format of the passes
  std::optional<bool> fp8_attention;     // attention's products in the products' format
  std::optional<bool> fp8_head;          // and the model's last product
  bool fp8_activation_store = false;     // what a gated activation read is kept in fp8 for its backward
  std::optional<AttentionKind> attention;
  std::optional<AttentionKernel> attention_kernel;  // of attention flash
  std::optional<ExpertProducts> expert_products;
  std::optional<Dtype> grad_dtype;    // gradients are accumulated in it
  std::optional<Dtype> reduce_dtype;  // and reduced over data parallel ranks in it
  std::optional<LossKind> loss;
  std::int64_t loss_chunks = 0;  // 0: the stack's number, or Liger's rule
  std::int64_t mlp_chunks = 1;   // pieces of tokens in which a dense MLP is worked off, and run again
  std::optional<double> document_imbalance;  // attention of the fullest rank over the mean
  bool offload = false;                      // what blocks keep for their backward waits in the host's memory
  OptimizerKind optimizer = OptimizerKind::kAdamw;
  bool paged = false;  // its states lie in unified memory, and leave the GPU where that is short
  bool offload_optimizer =
      false;  // states and master copy lie in the host's memory, and its CPU updates them
  std::optional<bool> master_weights;  // an fp32 copy of half precision weights
  // The backward gathers the saved shard of a column-parallel input again.
  std::optional<bool> sp_gather_again;
  std::optional<bool> tp_overlap;  // under sp, products run beside the collectives of their input and output
  std::optional<bool> overlap_grad_reduce;
  std::optional<bool> overlap_param_gather;   // of ZeRO 1 and 2, with the next step's first forward
  std::optional<bool> partition_activations;  // checkpoints split over tp, gathered again in the backward
  std::optional<Dispatcher> dispatcher;
  std::optional<Dtype> dispatch_dtype;     // tokens travel to their experts in it; absent: in the precision
  double capacity_factor = 0;              // most rows of an expert, over the mean; 0: whatever comes
  bool capacity_pad = false;               // and always so many
  std::optional<double> expert_imbalance;  // rows of the fullest rank over the mean
  std::optional<bool> expert_sync;         // the host waits for the router's counts
  std::optional<bool> loss_fusion;         // the loss by a few kernels on logits as they are
  std::optional<bool> permute_fusion;      // rows are moved to their experts by one kernel each way
  std::optional<bool> router_fusion;       // the router chooses and weighs by a few kernels
  bool overlap_dispatch = false;           // tokens travel beside the work of another micro-batch
  std::optional<bool> overlap_shared;      // shared experts work while tokens travel
  std::int64_t lora = 0;                   // rank of adapters; 0: the whole model is trained
  LoraTargets lora_targets;                // beside which products; empty: all
  std::optional<Dtype> lora_dtype;
  bool lora_dropout = false;                   // what adapters read is dropped out
  std::optional<BaseFormat> base;              // of frozen products
  std::optional<bool> double_quant;            // scales of nf4 are quantised too
  std::optional<GraphModules> cuda_graph;      // what is captured; empty: nothing
  std::vector<std::int64_t> layers_per_stage;  // empty: the stack's rule; by stage, or by chunk

  bool operator==(const Plan&) const = default;
};

}  // namespace foretrain
