#include "job/fine_tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "job/choices.h"

namespace foretrain {
namespace {

std::string_view word(TrainingTask task) { return kTaskNames[static_cast<std::size_t>(task)]; }
std::string_view word(BaseFormat base) { return kBaseFormatNames[static_cast<std::size_t>(base)]; }

void assume(Run& run, std::string line) {
  if (std::find(run.assumed.begin(), run.assumed.end(), line) == run.assumed.end())
    run.assumed.push_back(std::move(line));
}

// What a plan says of adapters, though it has none.
std::optional<std::string_view> said_without_adapters(const Plan& plan) {
  if (!plan.lora_targets.empty()) return "lora_targets";
  if (plan.lora_dtype) return "lora_dtype";
  if (plan.lora_dropout) return "lora_dropout";
  if (plan.base && *plan.base != BaseFormat::kBf16) return "base";
  if (plan.double_quant) return "double_quant";
  return std::nullopt;
}

// Whether any product of the block has an adapter. Experts have none: PEFT's all-linear takes linear modules.
bool has_adapter(const Block& block, LoraTargets targets) {
  LoraTargets here = targets_of({LoraTarget::kQ, LoraTarget::kK, LoraTarget::kV, LoraTarget::kO});
  const FeedForward& f = block.feed_forward;
  if (!f.has_experts() || f.shared_ffn > 0) here.add(targets_of({LoraTarget::kUp, LoraTarget::kDown}));
  if (is_gated(f.mlp) && (!f.has_experts() || f.shared_ffn > 0)) here.add(targets_of({LoraTarget::kGate}));
  return (here.bits & targets.bits) != 0;
}

bool some_of(LoraTargets targets, LoraTargets group) {
  const int both = targets.bits & group.bits;
  return both != 0 && both != group.bits;
}

// One adapter beside a product of several goes with all of them or none: the stack makes such products, or the
// model has queries, keys and values in one matrix, where PEFT finds no module q_proj.
Result<void> check_parted(const Run& run, LoraTargets targets) {
  const auto wanted = [](const std::string& whose, std::string_view module) -> Result<void> {
    return fail(fmt::format("lora_targets: {} has one adapter beside {}, expected all of its products", whose,
                            module));
  };
  const bool part_of_qkv = some_of(targets, targets_of({LoraTarget::kQ, LoraTarget::kK, LoraTarget::kV}));
  const bool part_of_fc1 = some_of(targets, targets_of({LoraTarget::kGate, LoraTarget::kUp}));
  const auto& blocks = run.model.blocks;
  const bool has_qkv = std::any_of(blocks.begin(), blocks.end(),
                                   [](const BlockRun& of) { return !of.block.attention.is_latent(); });
  if (run.stack.adapters.fused && part_of_qkv) return wanted("stack " + quoted(run.stack.name), "linear_qkv");
  if (run.stack.adapters.fused && part_of_fc1) return wanted("stack " + quoted(run.stack.name), "linear_fc1");
  if (run.model.fused_qkv && has_qkv && part_of_qkv)
    return wanted("model " + quoted(run.model.name), "linear_qkv");
  return {};
}

Result<void> check_base(Run& run, const AdapterChoices& adapters) {
  const Plan& plan = run.plan;
  if (plan.double_quant && adapters.base != BaseFormat::kNf4) return fail("double_quant needs base=nf4");
  if (!adapters.quantised()) return {};
  if (run.stack.parts.dequantise.empty())
    return fail(fmt::format("stack {} has no part dequantise, which base {} needs", quoted(run.stack.name),
                            word(adapters.base)));
  if (adapters.base == BaseFormat::kInt8 && plan.zero == 3)
    return fail(
        "base int8 does not go with zero 3: bitsandbytes cannot divide such weights; expected nf4 or bf16");
  if (adapters.base == BaseFormat::kInt8)
    assume(run,
           "base int8: the forward's product in eight bits is timed as one in the precision, after "
           "dequantisation");
  if (has_experts(run.model))
    assume(run, "experts stay in the precision: linear modules alone are quantised");
  return {};
}

Result<void> check_adapters(Run& run) {
  const Plan& plan = run.plan;
  const AdapterChoices adapters = adapters_of(run.stack, plan);
  if (run.stack.parts.adapter.empty())
    return fail(fmt::format("stack {} has no part adapter, which lora needs", quoted(run.stack.name)));
  if (adapters.dtype != Dtype::kFp32 && adapters.dtype != precision_of(run.stack, plan))
    return fail(fmt::format("lora_dtype {} is neither fp32 nor the precision {}", name(adapters.dtype),
                            name(precision_of(run.stack, plan))));
  const auto& blocks = run.model.blocks;
  if (std::none_of(blocks.begin(), blocks.end(),
                   [&](const BlockRun& of) { return has_adapter(of.block, adapters.targets); }))
    return fail(fmt::format("lora_targets: model {} has none of these products outside of experts",
                            quoted(run.model.name)));
  TRY(check_parted(run, adapters.targets));
  if (has_experts(run.model)) assume(run, "experts are frozen, with no adapters beside them");
  return check_base(run, adapters);
}

}  // namespace

TrainingTask task_of(const Plan& plan) {
  if (plan.lora == 0) return TrainingTask::kPretrain;
  return plan.base == BaseFormat::kNf4 ? TrainingTask::kQlora : TrainingTask::kLora;
}

TrainingTask task_of(const Run& run) { return run.task.value_or(task_of(run.plan)); }

Result<void> apply_task(std::optional<TrainingTask> task, Plan& plan, std::vector<std::string>& assumed) {
  const bool stated = plan.lora != kRankNotStated;
  if (!stated) plan.lora = 0;
  if (!task) return {};
  const bool adapts = *task == TrainingTask::kLora || *task == TrainingTask::kQlora;
  if (adapts && stated && plan.lora == 0)
    return fail(fmt::format("task {} trains adapters, but the plan has lora=0", word(*task)));
  if (!adapts) {
    if (plan.lora > 0)
      return fail(
          fmt::format("task {} trains all weights, but the plan has lora={}", word(*task), plan.lora));
    return {};
  }
  const bool four_bits = *task == TrainingTask::kQlora;
  if (four_bits && plan.base && *plan.base != BaseFormat::kNf4)
    return fail(fmt::format("task qlora has base nf4, but the plan has base={}", word(*plan.base)));
  if (!four_bits && plan.base == BaseFormat::kNf4)
    return fail("task lora has base bf16 or int8, but the plan has base=nf4, which is qlora");
  if (plan.lora == 0) {
    plan.lora = kUsualRank;
    assumed.push_back(fmt::format("lora={}: task {} states no rank", kUsualRank, word(*task)));
  }
  if (four_bits) plan.base = BaseFormat::kNf4;
  return {};
}

Result<void> check_fine_tuning(Run& run) {
  const Plan& plan = run.plan;
  if (plan.lora > 0) {
    TRY(check_adapters(run));
  } else if (const auto key = said_without_adapters(plan)) {
    return fail(fmt::format("{} needs lora, the rank of adapters", *key));
  }
  if (plan.paged && plan.offload_optimizer)
    return fail("paged does not go with offload_optimizer: states lie in one place");
  if (!plan.offload_optimizer) return {};
  if (plan.optimizer != OptimizerKind::kAdamw)
    return fail(fmt::format("offload_optimizer needs optimizer adamw, found {}",
                            kOptimizerNames[static_cast<std::size_t>(plan.optimizer)]));
  if (!run.cluster.cpu_memory)
    assume(run, fmt::format("the CPUs' memory: {} GB/s a node", kUsualCpuMemoryGbytes));
  return {};
}

BytesPerSecond cpu_memory_of(const Cluster& cluster) {
  return cluster.cpu_memory.value_or(gigabytes_per_second(kUsualCpuMemoryGbytes));
}

}  // namespace foretrain
