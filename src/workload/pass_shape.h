// What shapes a chunk's passes, of all that a job says: plans that agree in this share their passes.
#pragma once

#include <cstdint>
#include <optional>

#include "job/job.h"

namespace foretrain {

struct PassShape {
  std::int64_t tp = 1;
  std::int64_t ep = 1;
  std::int64_t etp = 1;
  ExpertChoices experts;
  ContextChoices context;
  AdapterChoices adapters;
  GraphChoices graphs;
  bool sp = false;
  std::int64_t micro_batch = 1;
  std::int64_t seq = 0;
  AttentionSpans spans{};  // of packed documents, by window; 0: none
  Recompute recompute = Recompute::kNone;
  AttentionKind attention = AttentionKind::kFlash;
  std::optional<AttentionKernel> attention_kernel;
  ExpertProducts expert_products = ExpertProducts::kGrouped;
  Dtype precision = Dtype::kBf16;
  LowPrecision low;
  bool partition_activations = false;
  bool dropout = false;
  bool accumulates = false;  // several micro-batches a step: gradients are added up
  bool sp_gather_again = false;
  bool tp_overlap = false;
  std::int64_t recompute_layers = 0;  // of recompute full; 0: all
  RecomputeModules modules;           // of recompute selective
  LossChoices loss;
  std::int64_t mlp_chunks = 1;
  bool offload = false;
  bool stores_activation = false;  // what a gated activation read is kept in fp8
  Dtype grad_dtype = Dtype::kFp32;
  UnitSharding units;
  std::int64_t calls_beside_messages = 0;  // of a layer and direction, all tensor-parallel ranks together

  std::int64_t tokens() const { return micro_batch * (seq / context.ranks); }  // of this rank
  WeightRanks weight_ranks() const { return {tp, ep, etp}; }
  bool operator==(const PassShape&) const = default;
};

// Without calls beside messages: whether these cross nodes is the network's to say.
PassShape pass_shape(const Job& job);

}  // namespace foretrain
