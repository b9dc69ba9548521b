#include "report/megatron_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "job/job.h"

namespace foretrain {

namespace {

const std::string kDashes(2, '-');  // of Megatron's own flags; options of ours have no place here

}  // namespace

MegatronFlags megatron_flags(const Run& run) {
  const Plan& plan = run.plan;
  const Job job = job_of(run);
  const Choices& choices = job.choices;
  MegatronFlags out;
  const auto add = [&](std::string_view flag) { out.flags.push_back(kDashes + std::string(flag)); };
  const auto add_count = [&](std::string_view flag, std::int64_t n) { add(fmt::format("{} {}", flag, n)); };
  add_count("tensor-model-parallel-size", plan.tp);
  if (plan.sp) add("sequence-parallel");
  add_count("pipeline-model-parallel-size", plan.pp);
  const ScheduleKind schedule = job.pipeline.schedule;
  const std::int64_t layers = run.model.layers();
  if (schedule == ScheduleKind::kInterleaved) {
    if (plan.layers_per_stage.empty() && layers % (plan.pp * plan.vpp) == 0)
      add_count("num-layers-per-virtual-pipeline-stage", layers / (plan.pp * plan.vpp));
    else
      add_count("num-virtual-stages-per-pipeline-rank", plan.vpp);
  } else if (plan.pp > 1 && schedule != ScheduleKind::k1f1b) {
    out.beyond.push_back(fmt::format("schedule {}", name(schedule)));
  }
  const auto& stages = plan.layers_per_stage;
  if (static_cast<std::int64_t>(stages.size()) == plan.pp && plan.pp > 1) {
    const std::int64_t inner = plan.pp - 2, rest = layers - stages.front() - stages.back();
    if (inner == 0 || rest % inner == 0) {
      add_count("decoder-first-pipeline-num-layers", stages.front());
      add_count("decoder-last-pipeline-num-layers", stages.back());
    } else {
      out.beyond.push_back(fmt::format(
          "layers {} by two flags: state them by --pipeline-model-parallel-layout", fmt::join(stages, "-")));
    }
  }
  add_count("micro-batch-size", plan.micro_batch);
  add_count("global-batch-size", run.global_batch);
  add_count("seq-length", run.seq);
  if (plan.precision == Dtype::kBf16) add("bf16");
  if (plan.precision == Dtype::kFp16) add("fp16");
  if (plan.recompute == Recompute::kSelective) add("recompute-activations");
  if (plan.recompute == Recompute::kFull) {
    add("recompute-granularity full");
    // The first so many layers of each chunk, or all of them one by one.
    add(plan.recompute_layers > 0 ? "recompute-method block" : "recompute-method uniform");
    add_count("recompute-num-layers", std::max<std::int64_t>(1, plan.recompute_layers));
    if (choices.partition_activations) add("distribute-saved-activations");
  }
  if (plan.zero == 1) add("use-distributed-optimizer");
  if (plan.zero >= 2) {
    add("use-megatron-fsdp");
    add(plan.zero == 2 ? "data-parallel-sharding-strategy optim_grads"
                       : "data-parallel-sharding-strategy optim_grads_params");
  }
  if (plan.zero > 0 && job.mesh.replicas() > 1)
    add_count("num-distributed-optimizer-instances", job.mesh.replicas());
  const bool reduces = job.mesh.data_ranks() > 1;
  if (reduces && choices.overlap_grad_reduce) add("overlap-grad-reduce");
  if (reduces && plan.zero > 0 && choices.overlap_param_gather) add("overlap-param-gather");
  if (is_half(choices.grad_dtype)) add("grad-reduce-in-bf16");
  if (choices.attention == AttentionKind::kFlash) add("use-flash-attn");
  return out;
}

}  // namespace foretrain
