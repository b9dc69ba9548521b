#include "report/megatron_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "job/job.h"
#include "spec/documents_text.h"

namespace foretrain {
namespace {

const std::string kDashes(2, '-');  // of Megatron's own flags; options of ours have no place here

class FlagWriter {
 public:
  explicit FlagWriter(const Run& run) : run_(run), plan_(run.plan), job_(job_of(run)) {}

  MegatronFlags write() {
    add_parallel_sizes();
    if (plan_.cp > 1) add_context();
    if (has_experts(run_.model)) add_experts();
    add_layers_per_stage();
    add_batch();
    add_precision();
    add_recompute();
    add_graphs();
    add_sharding();
    add_overlap();
    if (plan_.lora > 0) out_.beyond.push_back(fmt::format("adapters of rank {}", plan_.lora));
    if (plan_.offload_optimizer) add("optimizer-cpu-offload");
    if (plan_.paged) out_.beyond.emplace_back("paged states");
    add_what_has_no_flag();
    if (is_half(job_.choices.grad_dtype)) add("grad-reduce-in-bf16");
    if (job_.choices.attention == AttentionKind::kFlash) add("use-flash-attn");
    if (job_.choices.stores_activation) add("activation-func-fp8-input-store");
    if (plan_.loss_fusion.value_or(false)) add("cross-entropy-loss-fusion");
    if (plan_.loss_fusion.value_or(false)) add("cross-entropy-fusion-impl te");
    return std::move(out_);
  }

 private:
  void add(std::string_view flag) { out_.flags.push_back(kDashes + std::string(flag)); }
  void add(std::string_view flag, std::int64_t count) { add(fmt::format("{} {}", flag, count)); }

  void add_parallel_sizes() {
    add("tensor-model-parallel-size", plan_.tp);
    if (plan_.sp) add("sequence-parallel");
    if (job_.choices.tp_overlap) add("tp-comm-overlap");
    add("pipeline-model-parallel-size", plan_.pp);
    const ScheduleKind schedule = job_.pipeline.schedule;
    if (schedule == ScheduleKind::kInterleaved) {
      add_virtual_stages();
    } else if (plan_.pp > 1 && schedule != ScheduleKind::k1f1b) {
      out_.beyond.push_back(fmt::format("schedule {}", name(schedule)));
    }
  }

  void add_context() {
    const ContextChoices& context = job_.choices.context;
    add("context-parallel-size", plan_.cp);
    const auto name = kCpTypeNames[static_cast<std::size_t>(context.type)];
    add(fmt::format("cp-comm-type {}", name == "allgather" ? "all_gather" : name));
    if (context.type == CpType::kHierarchical)
      add(fmt::format("hierarchical-context-parallel-sizes {} {}", context.a2a, context.ring()));
  }

  void add_experts() {
    const ExpertChoices& choices = job_.choices.experts;
    add("expert-model-parallel-size", job_.mesh.ep);
    add("expert-tensor-parallel-size", job_.mesh.etp);
    switch (choices.dispatcher) {
      case Dispatcher::kAllGather:
        add("moe-token-dispatcher-type allgather");
        break;
      case Dispatcher::kAllToAll:
        add("moe-token-dispatcher-type alltoall");
        break;
      case Dispatcher::kDeepEp:
        add("moe-token-dispatcher-type flex");
        add("moe-flex-dispatcher-backend deepep");
        break;
      case Dispatcher::kHybridEp:
        add("moe-token-dispatcher-type flex");
        add("moe-flex-dispatcher-backend hybridep");
        break;
    }
    add("moe-grouped-gemm");
    if (choices.permute_fused) add("moe-permute-fusion");
    if (choices.router_fused) add("moe-router-fusion");
    if (plan_.capacity_factor > 0) add(fmt::format("moe-expert-capacity-factor {}", plan_.capacity_factor));
    if (plan_.capacity_pad) add("moe-pad-expert-input-to-capacity");
    if (plan_.dispatch_dtype && *plan_.dispatch_dtype != precision_of(run_.stack, plan_))
      out_.beyond.push_back(fmt::format("dispatch in {}", name(*plan_.dispatch_dtype)));
    if (choices.beside) add("moe-shared-expert-overlap");
    if (choices.hidden) add("overlap-moe-expert-parallel-comm");
  }

  void add_virtual_stages() {
    const std::int64_t layers = run_.model.layers(), chunks = plan_.pp * plan_.vpp;
    if (plan_.layers_per_stage.empty() && layers % chunks == 0)
      add("num-layers-per-virtual-pipeline-stage", layers / chunks);
    else
      add("num-virtual-stages-per-pipeline-rank", plan_.vpp);
  }

  void add_layers_per_stage() {
    const auto& stages = plan_.layers_per_stage;
    if (static_cast<std::int64_t>(stages.size()) != plan_.pp || plan_.pp <= 1) return;
    const std::int64_t inner = plan_.pp - 2, rest = run_.model.layers() - stages.front() - stages.back();
    if (inner == 0 || rest % inner == 0) {
      add("decoder-first-pipeline-num-layers", stages.front());
      add("decoder-last-pipeline-num-layers", stages.back());
    } else {
      out_.beyond.push_back(fmt::format(
          "layers {} by two flags: state them by --pipeline-model-parallel-layout", fmt::join(stages, "-")));
    }
  }

  void add_batch() {
    add("micro-batch-size", plan_.micro_batch);
    add("global-batch-size", run_.global_batch);
    add("seq-length", run_.seq);
  }

  void add_precision() {
    const RecipeFormats formats = low_precision_of(run_.stack, plan_).formats;
    add(formats.passes == Dtype::kFp16 ? "fp16" : "bf16");
    if (formats.is_narrow()) add_narrow(formats);
  }

  // Products in fewer bits, by the recipes of its Transformer Engine.
  void add_narrow(const RecipeFormats& formats) {
    const bool four_bits = formats.forward == Dtype::kNvfp4;
    add(four_bits                        ? "fp4-format e2m1"
        : formats.forward == Dtype::kFp8 ? "fp8-format hybrid"
                                         : "fp8-format e4m3");
    if (!four_bits)
      add(std::string("fp8-recipe ") + (formats.forward == Dtype::kMxfp8       ? "mxfp8"
                                        : formats.forward != Dtype::kFp8       ? "blockwise"
                                        : formats.scaling == Scaling::kDelayed ? "delayed"
                                                                               : "tensorwise"));
    if (formats.params) add(four_bits ? "fp4-param-gather" : "fp8-param-gather");
    if (formats.attention) add("fp8-dot-product-attention");
    if (!formats.bf16_layers.any()) return;
    add("first-last-layers-bf16");
    add("num-layers-at-start-in-bf16", formats.bf16_layers.start);
    add("num-layers-at-end-in-bf16", formats.bf16_layers.end);
  }

  void add_recompute() {
    if (plan_.recompute == Recompute::kSelective) add_modules();
    if (plan_.recompute != Recompute::kFull) return;
    add("recompute-granularity full");
    // The first so many layers of each chunk, or all of them one by one.
    add(plan_.recompute_layers > 0 ? "recompute-method block" : "recompute-method uniform");
    add("recompute-num-layers", std::max<std::int64_t>(1, plan_.recompute_layers));
    if (job_.choices.partition_activations) add("distribute-saved-activations");
  }

  void add_modules() {
    const RecomputeModules& modules = plan_.recompute_modules;
    if (modules.empty()) {
      add("recompute-activations");
      return;
    }
    std::string words;
    for (std::size_t i = 0; i < kRecomputeModuleNames.size(); ++i)
      if (modules.has(static_cast<RecomputeModule>(i))) words += fmt::format(" {}", kRecomputeModuleNames[i]);
    add("recompute-granularity selective");
    add("recompute-modules" + words);
  }

  // Its own words, but for `full`.
  void add_graphs() {
    const GraphModules scope = job_.choices.graphs.scope;
    if (scope.empty()) return;
    if (scope.has(GraphModule::kFull)) {
      add("cuda-graph-impl local");
      add("cuda-graph-scope full_iteration");
      return;
    }
    add("cuda-graph-impl transformer_engine");
    std::string words;
    for (std::size_t i = 0; i < kGraphModuleNames.size(); ++i)
      if (const auto module = static_cast<GraphModule>(i); scope.has(module) && module != GraphModule::kLayer)
        words += fmt::format(" {}", kGraphModuleNames[i]);
    if (!words.empty()) add("cuda-graph-scope" + words);  // without it: whole layers
  }

  void add_sharding() {
    if (plan_.zero == 1) add("use-distributed-optimizer");
    if (plan_.zero >= 2) {
      add("use-megatron-fsdp");
      add(plan_.zero == 2 ? "data-parallel-sharding-strategy optim_grads"
                          : "data-parallel-sharding-strategy optim_grads_params");
    }
    if (plan_.zero > 0 && job_.mesh.replicas() > 1)
      add("num-distributed-optimizer-instances", job_.mesh.replicas());
  }

  void add_overlap() {
    if (job_.mesh.data_ranks() <= 1) return;
    if (job_.choices.overlap_grad_reduce) add("overlap-grad-reduce");
    if (plan_.zero > 0 && job_.choices.overlap_param_gather) add("overlap-param-gather");
  }

  void add_what_has_no_flag() {
    auto& beyond = out_.beyond;
    if (plan_.mlp_chunks > 1) beyond.push_back(fmt::format("an MLP in {} pieces", plan_.mlp_chunks));
    if (plan_.offload) beyond.emplace_back("activations in the host's memory");
    if (job_.choices.loss.kind != LossKind::kWhole)
      beyond.push_back(fmt::format("loss {}", kLossNames[static_cast<std::size_t>(job_.choices.loss.kind)]));
    if (run_.documents.stated())
      beyond.push_back(fmt::format("packed documents of {}", to_text(run_.documents)));
    if (plan_.optimizer != OptimizerKind::kAdamw)
      beyond.push_back(
          fmt::format("optimizer {}", kOptimizerNames[static_cast<std::size_t>(plan_.optimizer)]));
  }

  const Run& run_;
  const Plan& plan_;
  const Job job_;
  MegatronFlags out_;
};

}  // namespace

MegatronFlags megatron_flags(const Run& run) { return FlagWriter(run).write(); }

}  // namespace foretrain
