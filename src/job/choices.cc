#include "job/choices.h"

#include <algorithm>

#include "job/expert_load.h"

namespace foretrain {
namespace {

double asked_dropout(const Model& model, const Stack& stack) {
  return model.dropout.value_or(stack.default_dropout);
}

// Runs in fp16 may keep their gradients in it, whatever others do.
bool stays_in_fp16(const Stack& stack, const Plan& plan) {
  return stack.gradients.fp16_stays && precision_of(stack, plan) == Dtype::kFp16;
}

// Adapters in fp32 have gradients and moments in it.
bool trains_fp32(const Stack& stack, const Plan& plan) {
  return plan.lora > 0 && adapters_of(stack, plan).dtype == Dtype::kFp32;
}

Dtype reduce_dtype_of(const Stack& stack, const Plan& plan) {
  if (trains_fp32(stack, plan)) return plan.reduce_dtype.value_or(Dtype::kFp32);
  return plan.reduce_dtype.value_or(stays_in_fp16(stack, plan) ? Dtype::kFp16 : stack.gradients.reduce_dtype);
}

bool overlaps_reduction(const Stack& stack, const Plan& plan) {
  const bool by_ddp = plan.zero == 0 && stack.data_parallel.bucket_buffers;
  return plan.overlap_grad_reduce.value_or(stack.data_parallel.overlap || by_ddp);
}

std::int64_t moment_width_of(const Stack& stack, const Plan& plan) {
  switch (plan.optimizer) {
    case OptimizerKind::kAdamw:
    case OptimizerKind::kMuon:
      if (trains_fp32(stack, plan)) return 4;
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes_of(stack.states.moments)));
    case OptimizerKind::kAdamwBf16:
      return 2;
    case OptimizerKind::kAdamw8bit:
      return 1;
  }
  return 0;
}

UnitSharding units_of(const Mesh& mesh, const Stack& stack, const Plan& plan) {
  const Stack::DataParallel& data = stack.data_parallel;
  UnitSharding units;
  const bool alone = mesh.data_ranks() == 1 && mesh.data_ranks(WeightClass::kExperts) == 1;
  if (plan.zero < 2 || alone) return units;
  units.gathers_forward = plan.zero == 3 || data.zero2_gather == Zero2Gather::kForward;
  units.gathers_backward = plan.zero == 3 && data.reshard_after_forward;
  units.keeps_gathered = plan.zero == 3 && !data.reshard_after_forward;
  units.scatters = true;
  units.beside = overlaps_reduction(stack, plan);
  for (const WeightClass weights : kWeightClasses) {
    units.shards[weights] = mesh.shards(weights);
    units.replicated[weights] = mesh.replicas(weights) > 1;
  }
  units.reduce_dtype = reduce_dtype_of(stack, plan);
  return units;
}

// The fewest, of blocks that differ: their loads are the most uneven.
std::int64_t experts_a_rank(const Model& model, std::int64_t ep) {
  std::int64_t fewest = 0;
  for (const BlockRun& run : model.blocks)
    if (const FeedForward& f = run.block.feed_forward; f.has_experts())
      fewest = fewest == 0 ? f.experts / ep : std::min(fewest, f.experts / ep);
  return std::max<std::int64_t>(fewest, 1);
}

// Beyond its capacity an expert takes nothing; padded to it, always as much.
double rows_of(const Model& model, const Plan& plan) {
  const double usual = std::min(kUsualImbalance, most_imbalance(model, plan.ep));
  const double fullest = plan.ep == 1 ? 1.0 : plan.expert_imbalance.value_or(usual);
  if (plan.capacity_factor == 0) return fullest;
  if (plan.capacity_pad) return plan.capacity_factor;
  return fullest_rank({plan.ep, experts_a_rank(model, plan.ep), fullest}, plan.capacity_factor);
}

ExpertChoices experts_of(const Model& model, const Stack& stack, const Plan& plan) {
  ExpertChoices c;
  if (!has_experts(model)) return c;
  c.dispatcher = plan.dispatcher.value_or(stack.experts.dispatcher);
  c.dispatch_dtype = plan.dispatch_dtype.value_or(precision_of(stack, plan));
  c.rows = rows_of(model, plan);
  c.guessed = plan.ep > 1 && !plan.expert_imbalance && !plan.capacity_pad;
  c.syncs = !plan.capacity_pad && plan.expert_sync.value_or(stack.experts.syncs);
  c.reads = !plan.capacity_pad && plan.expert_sync.value_or(true);
  c.permute_fused = plan.permute_fusion.value_or(stack.experts.permute_fusion);
  c.router_fused = plan.router_fusion.value_or(stack.experts.router_fusion);
  c.hidden = plan.overlap_dispatch;
  c.beside = plan.overlap_shared.value_or(stack.experts.overlap_shared);
  return c;
}

LossChoices loss_of(const Stack& stack, const Plan& plan) {
  LossChoices loss;
  loss.kind = plan.loss.value_or(stack.loss.kind);
  if (loss.kind == LossKind::kChunked) {
    loss.chunks = plan.loss_chunks > 0 ? plan.loss_chunks : stack.loss.chunks;
    loss.keeps_logits = stack.loss.keeps_logits;
  }
  if (loss.kind == LossKind::kFused) loss.chunks = plan.loss_chunks;
  loss.fused = plan.loss_fusion.value_or(stack.loss.fusion);
  return loss;
}

ContextChoices context_of(const Stack& stack, const Plan& plan) {
  if (plan.cp == 1) return {};
  const CpType type = cp_type_of(stack, plan);
  ContextChoices c{.type = type, .ranks = plan.cp, .repeats_kv = stack.context_parallel.repeats_kv};
  if (type == CpType::kA2a) c.a2a = plan.cp;
  if (type == CpType::kHierarchical) c.a2a = plan.cp_a2a;
  return c;
}

}  // namespace

bool offers(const Stack& stack, LossKind kind) {
  return kind == stack.loss.kind || kind == LossKind::kWhole ||
         (kind == LossKind::kChunked ? stack.loss.offers_chunked : stack.loss.offers_fused);
}

GraphChoices graphs_of(const Stack& stack, const Plan& plan) {
  using enum GraphModule;
  GraphChoices c;
  c.scope = plan.cuda_graph.value_or(stack.cuda_graphs.scope);
  if (c.scope.empty()) return c;
  c.step = c.scope.has(kFull);
  const bool all = c.step || c.scope.has(kLayer);
  c.attention = all || c.scope.has(kAttention);
  c.mlp = all || c.scope.has(kMlp);
  c.experts = all || c.scope.has(kMoe);
  c.router = c.experts || c.scope.has(kMoeRouter);
  c.preprocess = c.experts || c.scope.has(kMoePreprocess);
  c.optimizer = c.step && stack.cuda_graphs.optimizer;
  c.copies_inputs = !c.step && stack.cuda_graphs.copies_inputs;
  return c;
}

AdapterChoices adapters_of(const Stack& stack, const Plan& plan) {
  AdapterChoices c;
  if (plan.lora == 0) return c;
  c.rank = plan.lora;
  c.targets = plan.lora_targets.empty() ? kAllTargets : plan.lora_targets;
  const Dtype usual = stack.adapters.dtype == Dtype::kFp32 ? Dtype::kFp32 : precision_of(stack, plan);
  c.dtype = plan.lora_dtype.value_or(usual);
  const bool wide = c.dtype == Dtype::kFp32;
  c.casts = wide && stack.adapters.autocast;
  c.fp32 = wide && !stack.adapters.autocast;
  c.dropout = plan.lora_dropout;
  c.base = plan.base.value_or(BaseFormat::kBf16);
  c.double_quant = c.base == BaseFormat::kNf4 && plan.double_quant.value_or(stack.adapters.double_quant);
  return c;
}

bool has_experts(const Model& model) {
  return std::any_of(model.blocks.begin(), model.blocks.end(),
                     [](const BlockRun& run) { return run.block.feed_forward.has_experts(); });
}

double most_imbalance(const Model& model, std::int64_t ep) {
  double most = 1;
  for (const BlockRun& run : model.blocks)
    if (const FeedForward& f = run.block.feed_forward; f.has_experts())
      most = std::max(
          most, static_cast<double>(ep * std::min(f.top_k, f.experts / ep)) / static_cast<double>(f.top_k));
  return most;
}

CpType cp_type_of(const Stack& stack, const Plan& plan) {
  return plan.cp_type.value_or(stack.context_parallel.type);
}

AttentionKind attention_of(const Stack& stack, const Plan& plan) {
  return plan.attention.value_or(stack.default_attention);
}

Sharding sharding_of(const Stack& stack, const Plan& plan) {
  const Mesh mesh = mesh_of(plan);
  const Stack::DataParallel& data = stack.data_parallel;
  Sharding sharding;
  sharding.zero = plan.zero;
  if (plan.zero > 0)
    for (const WeightClass weights : kWeightClasses) sharding.shards[weights] = mesh.shards(weights);
  const bool divides =
      sharding.shards[WeightClass::kCommon] > 1 || sharding.shards[WeightClass::kExperts] > 1;
  sharding.reduces_to_shard = divides && data.zero_reduce_scatter;
  sharding.gathers_by_step =
      divides && (plan.zero == 1 || (plan.zero == 2 && data.zero2_gather == Zero2Gather::kStep));
  sharding.units = units_of(mesh, stack, plan);
  return sharding;
}

std::int64_t mtp_layers_of(const Model& model, const Stack& stack) {
  return stack.parts.mtp.empty() ? 0 : model.mtp_layers;
}

double dropout_of(const Model& model, const Stack& stack) {
  return has_dropout(stack) ? asked_dropout(model, stack) : 0.0;
}

bool leaves_dropout_out(const Model& model, const Stack& stack) {
  return asked_dropout(model, stack) > 0 && !has_dropout(stack);
}

bool repeats_selectively(const Model& model, const Stack& stack, const Plan& plan) {
  RecomputeModules beyond_attention = plan.recompute_modules;
  if (beyond_attention.has(RecomputeModule::kCoreAttention)) beyond_attention.bits ^= 1;
  if (!beyond_attention.empty()) return true;
  const auto repeats = [](const Part& part) {
    return std::any_of(part.begin(), part.end(), [](const PartOperator& op) { return op.selective; });
  };
  const auto any = [&](const auto& variants) {
    return std::any_of(variants.begin(), variants.end(), repeats);
  };
  const Stack::Parts& parts = stack.parts;
  const auto of_block = [&](const BlockRun& blocks) {
    const auto mlp = static_cast<std::size_t>(blocks.block.feed_forward.mlp);
    return repeats(parts.mlp[mlp]) ||
           (blocks.block.feed_forward.has_experts() && repeats(parts.experts[mlp]));
  };
  return repeats(parts.attention[static_cast<std::size_t>(attention_of(stack, plan))]) ||
         repeats(parts.norm[static_cast<std::size_t>(model.norm)]) || repeats(parts.qkv) ||
         repeats(parts.rope) || repeats(parts.latent_down) || repeats(parts.latent_up) ||
         repeats(parts.projection) || repeats(parts.router) || any(parts.dispatch) || any(parts.combine) ||
         repeats(parts.residual[static_cast<std::size_t>(model.residual)]) ||
         std::any_of(model.blocks.begin(), model.blocks.end(), of_block);
}

Choices choices_of(const Model& model, const Stack& stack, const Plan& plan) {
  Choices c;
  c.described = stack.described;
  c.attention = attention_of(stack, plan);
  c.attention_kernel = plan.attention_kernel;
  c.expert_products = plan.expert_products.value_or(ExpertProducts::kGrouped);
  c.dropout = asked_dropout(model, stack) > 0;
  c.sp = plan.sp && plan.tp > 1;
  c.sp_gather_again = plan.sp_gather_again.value_or(stack.tensor_parallel.sp_gather_again);
  c.tp_overlap = c.sp && plan.tp_overlap.value_or(stack.tensor_parallel.overlap);
  c.partition_activations = plan.partition_activations.value_or(false);
  c.recompute = plan.recompute;
  if (plan.recompute == Recompute::kFull) c.recompute_layers = plan.recompute_layers;
  if (plan.recompute == Recompute::kSelective) {
    c.modules = plan.recompute_modules;
    if (c.modules.empty()) c.modules.add(RecomputeModule::kCoreAttention);
  }
  c.loss = loss_of(stack, plan);
  c.mlp_chunks = plan.mlp_chunks;
  c.offload = plan.offload;
  c.stores_activation = plan.fp8_activation_store;
  c.low = low_precision_of(stack, plan);
  c.precision = c.low.formats.passes;
  c.adapters = adapters_of(stack, plan);
  c.graphs = graphs_of(stack, plan);
  c.trained_dtype = c.adapters.frozen() ? c.adapters.dtype : c.precision;
  const bool in_fp32 = trains_fp32(stack, plan);
  c.grad_dtype = plan.grad_dtype.value_or(in_fp32                      ? Dtype::kFp32
                                          : stays_in_fp16(stack, plan) ? Dtype::kFp16
                                                                       : stack.gradients.dtype);
  c.reduce_dtype = reduce_dtype_of(stack, plan);
  c.optimizer = plan.optimizer;
  c.master_weights = plan.master_weights.value_or(stack.states.master_weights);
  c.paged = plan.paged;
  c.offload_optimizer = plan.offload_optimizer;
  const bool kept_fp32 = in_fp32 || stack.states.fp32_weights;
  c.keeps_master = c.master_weights && !kept_fp32;
  c.updates_fp32 = c.master_weights || kept_fp32;
  c.moment_width = moment_width_of(stack, plan);
  if (c.offload_optimizer) {  // a CPU's Adam works in fp32
    c.keeps_master = !kept_fp32;
    c.updates_fp32 = true;
    c.moment_width = 4;
  }
  c.experts = experts_of(model, stack, plan);
  c.context = context_of(stack, plan);
  c.sharding = sharding_of(stack, plan);
  c.overlap_grad_reduce = overlaps_reduction(stack, plan);
  c.overlap_param_gather = plan.overlap_param_gather.value_or(stack.data_parallel.overlap_param_gather);
  return c;
}

}  // namespace foretrain
