// A plan: how one training run is laid over its GPUs. What a plan leaves open, its stack decides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/dtype.h"
#include "spec/feed_forward.h"
#include "spec/schedule_kind.h"

namespace foretrain {

enum class Recompute : unsigned char { kNone, kSelective, kFull };
inline constexpr std::array<std::string_view, 3> kRecomputeNames = {"none", "selective", "full"};
enum class AttentionKind : unsigned char { kFlash, kUnfused };
inline constexpr std::array<std::string_view, 2> kAttentionNames = {"flash", "unfused"};

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
  std::int64_t ep = 1;
  std::int64_t dp = 0;  // 0: derived, gpus / (tp * pp * cp)
  int zero = 0;
  std::int64_t shard = 0;  // data-parallel ranks that share one copy of what ZeRO divides; 0: all
  std::int64_t micro_batch = 1;
  Recompute recompute = Recompute::kNone;
  std::int64_t recompute_layers = 0;  // of recompute=full: the first so many layers of each chunk; 0: all
  ScheduleKind schedule = ScheduleKind::k1f1b;
  Dtype precision = Dtype::kBf16;
  std::optional<AttentionKind> attention;
  std::optional<ExpertProducts> expert_products;
  std::optional<Dtype> grad_dtype;    // gradients are accumulated in it
  std::optional<Dtype> reduce_dtype;  // and reduced over data parallel ranks in it
  bool offload = false;               // what blocks keep for their backward waits in the host's memory
  OptimizerKind optimizer = OptimizerKind::kAdamw;
  std::optional<bool> master_weights;  // an fp32 copy of half precision weights
  // The backward gathers the saved shard of a column-parallel input again.
  std::optional<bool> sp_gather_again;
  std::optional<bool> overlap_grad_reduce;
  std::optional<bool> overlap_param_gather;    // of ZeRO 1 and 2, with the next step's first forward
  std::optional<bool> partition_activations;   // checkpoints split over tp, gathered again in the backward
  std::vector<std::int64_t> layers_per_stage;  // empty: the stack's rule; by stage, or by chunk

  bool operator==(const Plan&) const = default;
};

}  // namespace foretrain
