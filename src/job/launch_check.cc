#include "job/launch_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "job/choices.h"
#include "job/mesh.h"
#include "job/pipeline.h"
#include "job/split.h"

namespace foretrain {
namespace {

// Whether all chunks have as many layers; of a split that the stack makes, whether one can be.
bool is_even(const Model& model, const Plan& plan) {
  const auto& stages = plan.layers_per_stage;
  if (stages.empty()) return model.layers() % pipeline_of(plan).model_chunks() == 0;
  return std::all_of(stages.begin(), stages.end(), [&](std::int64_t n) { return n == stages.front(); });
}

// Whether the plan states another split than the stack makes by itself: who states what it came to asks for nothing.
bool splits_by_hand(const Model& model, const Stack& stack, const Plan& plan) {
  const auto& stated = plan.layers_per_stage;
  if (stated.empty()) return false;
  const Pipeline pipeline = pipeline_of(plan);
  std::vector<std::int64_t> own = split_layers(model, stack.pipeline.split, pipeline.model_chunks());
  if (stated.size() == own.size()) return stated != own;
  std::vector<std::int64_t> stages(stated.size(), 0);
  for (std::size_t n = 0; n < own.size(); ++n)
    stages[static_cast<std::size_t>(pipeline.rank(static_cast<std::int64_t>(n)))] += own[n];
  return stated != stages;
}

bool all_hold(const std::vector<TraitValues>& side, const Traits& traits) {
  return std::all_of(side.begin(), side.end(), [&](const TraitValues& values) {
    return values.holds(traits[static_cast<std::size_t>(values.trait)]);
  });
}

}  // namespace

Traits traits_of(const Model& model, const Stack& stack, const Plan& plan) {
  const Choices choices = choices_of(model, stack, plan);
  Traits traits{};
  const auto set = [&traits](Trait trait, auto value) {
    traits[static_cast<std::size_t>(trait)] = static_cast<std::int64_t>(value);
  };
  set(Trait::kTp, plan.tp);
  set(Trait::kSp, plan.sp);
  set(Trait::kPp, plan.pp);
  set(Trait::kVpp, plan.vpp);
  set(Trait::kCp, plan.cp);
  set(Trait::kCpType, cp_type_of(stack, plan));
  set(Trait::kEp, plan.ep);
  set(Trait::kEtp, mesh_of(plan).etp);
  set(Trait::kDp, plan.dp);
  set(Trait::kZero, plan.zero);
  // Who states the group of all ranks asks for nothing else than who states none.
  set(Trait::kShard, plan.shard == mesh_of(plan).data_ranks() ? 0 : plan.shard);
  set(Trait::kRecompute, plan.recompute);
  set(Trait::kRecomputeLayers, plan.recompute_layers);
  set(Trait::kSchedule, pipeline_of(plan).schedule);
  set(Trait::kAttention, choices.attention);
  set(Trait::kOptimizer, plan.optimizer);
  set(Trait::kMasterWeights, choices.master_weights);
  set(Trait::kFp8Params, choices.low.formats.params);
  set(Trait::kSpGatherAgain, choices.sp_gather_again);
  set(Trait::kTpOverlap, plan.tp_overlap.value_or(choices.tp_overlap));
  set(Trait::kOverlapGradReduce, choices.overlap_grad_reduce);
  // A stack's own choice stands aside where nothing is gathered by step; a plan's is taken at its word.
  set(Trait::kOverlapParamGather,
      plan.overlap_param_gather.value_or(choices.sharding.gathers_by_step && choices.overlap_param_gather));
  set(Trait::kPartitionActivations, choices.partition_activations);
  set(Trait::kDispatcher, choices.experts.dispatcher);
  set(Trait::kCapacityPad, plan.capacity_pad);
  set(Trait::kOverlapDispatch, plan.overlap_dispatch);
  set(Trait::kOverlapShared, choices.experts.beside);
  set(Trait::kMlpChunks, plan.mlp_chunks);
  set(Trait::kOffload, plan.offload);
  set(Trait::kOffloadOptimizer, plan.offload_optimizer);
  set(Trait::kPaged, plan.paged);
  set(Trait::kLora, plan.lora);
  set(Trait::kBase, choices.adapters.base);
  set(Trait::kLayersPerStage, splits_by_hand(model, stack, plan));
  set(Trait::kEven, is_even(model, plan));
  set(Trait::kExperts, has_experts(model));
  set(Trait::kNarrow, choices.low.is_narrow());
  return traits;
}

bool keeps(const LaunchRule& rule, const Traits& traits) {
  return !all_hold(rule.plan, traits) || all_hold(rule.needs, traits);
}

std::optional<std::string> launch_refusal(const Run& run) {
  if (run.stack.rules.empty()) return std::nullopt;
  const Traits traits = traits_of(run.model, run.stack, run.plan);
  const auto value_of = [&](const TraitValues& values) {
    return traits[static_cast<std::size_t>(values.trait)];
  };
  for (const LaunchRule& rule : run.stack.rules) {
    if (keeps(rule, traits)) continue;
    const TraitValues& need = *std::find_if(rule.needs.begin(), rule.needs.end(),
                                            [&](const TraitValues& v) { return !v.holds(value_of(v)); });
    std::string plan;
    for (const TraitValues& values : rule.plan)
      plan += fmt::format("{}{}={}", plan.empty() ? "with " : ",", key_of(values.trait),
                          word_of(values.trait, value_of(values)));
    return fmt::format("stack {} does not run {}={}{}{}, expected {}: {}", quoted(run.stack.name),
                       key_of(need.trait), word_of(need.trait, value_of(need)), plan.empty() ? "" : " ", plan,
                       to_text(need), rule.says);
  }
  return std::nullopt;
}

}  // namespace foretrain
