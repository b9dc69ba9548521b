#include "job/choice_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "job/choices.h"
#include "job/precision.h"

namespace foretrain {
namespace {

// What a module is made of, where no block of the model has it; empty: one has.
std::string_view lacks(const Model& model, RecomputeModule module) {
  const auto any = [&model](auto has) {
    return std::any_of(model.blocks.begin(), model.blocks.end(),
                       [&](const BlockRun& run) { return has(run.block); });
  };
  switch (module) {
    case RecomputeModule::kMoeActivation:
    case RecomputeModule::kMoe:
      return has_experts(model) ? "" : "experts";
    case RecomputeModule::kSharedExperts:
      return any([](const Block& b) { return b.feed_forward.shared_ffn > 0; }) ? "" : "shared experts";
    case RecomputeModule::kLatentUp:
      return any([](const Block& b) { return b.attention.is_latent(); }) ? "" : "latent attention";
    case RecomputeModule::kMlp:
      return any([](const Block& b) { return !b.feed_forward.has_experts(); }) ? "" : "a dense MLP";
    case RecomputeModule::kCoreAttention:
    case RecomputeModule::kLayernorm:
      break;
  }
  return "";
}

// Kernels of attention that were written for one architecture: FlashAttention 3 for wgmma and TMA of compute capability
// 9.0 (Shah et al. 2024, arXiv 2407.08608), cuDNN's for NVIDIA's parts, its fp8 for Hopper and later.
Result<void> check_attention_kernel(const Run& run) {
  const Gpu& gpu = run.cluster.gpu;
  const auto kernel = run.plan.attention_kernel;
  const auto is = [&gpu] { return fmt::format("{} ({})", quoted(gpu.name), name(gpu.architecture)); };
  if (kernel == AttentionKernel::kFlash3 && gpu.architecture != Architecture::kHopper)
    return fail(fmt::format("attention_kernel flash3 needs a Hopper GPU, which {} is not, expected flash2{}",
                            is(), is_nvidia(gpu.architecture) ? " or cudnn" : ""));
  if (kernel == AttentionKernel::kCudnn && !is_nvidia(gpu.architecture))
    return fail(fmt::format(
        "attention_kernel cudnn needs a GPU of NVIDIA's, which {} is not, expected flash2", is()));
  if (!low_precision_of(run.stack, run.plan).formats.attention) return {};
  if (kernel == AttentionKernel::kFlash2)
    return fail("fp8_attention: FlashAttention 2 has no fp8, expected attention_kernel cudnn or flash3");
  if (gpu.architecture < Architecture::kHopper)
    return fail(
        fmt::format("fp8_attention needs a Hopper GPU or a later one, which {} is not, expected "
                    "fp8_attention=0",
                    is()));
  return {};
}

// Megatron Core stores the input of SwiGLU alone so (transformer_config.py).
Result<void> check_activation_store(const Run& run) {
  if (!run.stack.low_precision.offers_activation_store)
    return fail(fmt::format("fp8_activation_store: stack {} keeps what activations read as it is",
                            quoted(run.stack.name)));
  for (const BlockRun& blocks : run.model.blocks)
    if (blocks.block.feed_forward.mlp != MlpKind::kSwiglu)
      return fail(fmt::format("fp8_activation_store needs an mlp of swiglu, and model {} has {}",
                              quoted(run.model.name),
                              kMlpNames[static_cast<std::size_t>(blocks.block.feed_forward.mlp)]));
  return {};
}

}  // namespace

Result<void> check_fusion(const Stack& stack, std::string_view key, std::optional<bool> fused,
                          const std::array<Condition, 2>& when) {
  if (!fused || has_condition(stack, when[*fused ? 1 : 0])) return {};
  return fail(fmt::format("{}={}: stack {} does not say what it launches then", key, *fused ? 1 : 0,
                          quoted(stack.name)));
}

Result<void> check_choices(const Run& run) {
  const Plan& plan = run.plan;
  if (plan.recompute_layers > 0 && plan.recompute != Recompute::kFull)
    return fail("recompute_layers needs recompute=full");
  if (!plan.recompute_modules.empty() && plan.recompute != Recompute::kSelective)
    return fail("recompute_modules needs recompute=selective");
  for (std::size_t i = 0; i < kRecomputeModuleNames.size(); ++i)
    if (const auto module = static_cast<RecomputeModule>(i); plan.recompute_modules.has(module))
      if (const auto lacking = lacks(run.model, module); !lacking.empty())
        return fail(fmt::format("recompute_modules {} needs {}, and model {} has none",
                                kRecomputeModuleNames[i], lacking, quoted(run.model.name)));
  if (plan.attention_kernel && attention_of(run.stack, plan) != AttentionKind::kFlash)
    return fail("attention_kernel needs attention flash");
  TRY(check_attention_kernel(run));
  TRY(check_fusion(run.stack, "loss_fusion", plan.loss_fusion,
                   {Condition::kLossEager, Condition::kLossFused}));
  if (plan.fp8_activation_store) TRY(check_activation_store(run));
  return {};
}

}  // namespace foretrain
