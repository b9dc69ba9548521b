#include "job/expert_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "job/choice_check.h"
#include "job/choices.h"
#include "job/mesh.h"
#include "job/pipeline.h"

namespace foretrain {
namespace {

// Of one block with experts: why they cannot be divided so.
std::optional<std::string> expert_refusal(const FeedForward& f, const Mesh& mesh) {
  if (f.experts % mesh.ep != 0) return fmt::format("ep {} does not divide experts {}", mesh.ep, f.experts);
  if (f.expert_ffn % mesh.etp != 0)
    return fmt::format("etp {} does not divide expert_ffn {}", mesh.etp, f.expert_ffn);
  return std::nullopt;
}

// What the plan says of experts, where the model has none.
std::optional<std::string_view> said_of_experts(const Plan& plan) {
  if (plan.ep > 1) return "ep";
  if (plan.etp) return "etp";
  if (plan.dispatcher) return "dispatcher";
  if (plan.dispatch_dtype) return "dispatch_dtype";
  if (plan.capacity_factor > 0) return "capacity_factor";
  if (plan.capacity_pad) return "capacity_pad";
  if (plan.expert_imbalance) return "expert_imbalance";
  if (plan.expert_sync) return "expert_sync";
  if (plan.permute_fusion) return "permute_fusion";
  if (plan.router_fusion) return "router_fusion";
  if (plan.expert_products) return "expert_products";
  if (plan.overlap_dispatch) return "overlap_dispatch";
  if (plan.overlap_shared) return "overlap_shared";
  return std::nullopt;
}

// Work of another micro-batch runs beside tokens on their way where passes of two alternate, as in Megatron-LM
// (overlap-moe-expert-parallel-comm) and DualPipe.
Result<void> check_overlap(const Run& run) {
  const Plan& plan = run.plan;
  const Choices choices = choices_of(run.model, run.stack, plan);
  if (plan.ep == 1 || run.micro_batches() < 2)
    return fail("overlap_dispatch needs ep > 1 and two micro-batches");
  const Pipeline pipeline = pipeline_of(plan);
  if (plan.pp > 1 && pipeline.chunks_per_stage < 2)
    return fail("overlap_dispatch with pp > 1 needs several chunks a stage");
  if (plan.recompute == Recompute::kFull || choices.modules.has(RecomputeModule::kMoe))
    return fail("overlap_dispatch does not go with recomputing whole layers of experts");
  if (choices.experts.dispatcher == Dispatcher::kAllGather || choices.experts.beside)
    return fail("overlap_dispatch goes neither with dispatcher allgather nor with overlap_shared");
  return {};
}

Result<void> check_imbalance(const Plan& plan, double most) {
  if (!plan.expert_imbalance || *plan.expert_imbalance <= most) return {};
  return fail(fmt::format("expert_imbalance {} is more than {}: all tokens choose the fullest rank's experts",
                          *plan.expert_imbalance, most));
}

}  // namespace

Result<void> check_expert_choices(const Run& run, bool any_ep) {
  const Plan& plan = run.plan;
  if (!has_experts(run.model)) {
    if (const auto key = said_of_experts(plan))
      return fail(fmt::format("{} needs experts, and model {} has none", *key, quoted(run.model.name)));
    return {};
  }
  if (plan.capacity_pad && plan.capacity_factor == 0) return fail("capacity_pad needs capacity_factor");
  if (!any_ep) return {};
  // On as many ranks as there are experts to a token's, or more, a token's choice is spread no further.
  double most = 1;
  for (const BlockRun& blocks : run.model.blocks)
    if (const FeedForward& f = blocks.block.feed_forward; f.has_experts())
      most = std::max(most, static_cast<double>(f.experts) / static_cast<double>(f.top_k));
  return check_imbalance(plan, most);
}

Result<void> check_experts(Run& run) {
  const Plan& plan = run.plan;
  const Mesh mesh = mesh_of(plan);
  TRY(check_expert_choices(run));
  if (!has_experts(run.model)) return {};
  if (mesh.stage_ranks() % mesh.expert_ranks() != 0)
    return fail(fmt::format("ep*etp = {}*{} does not divide the {} ranks of a stage, tp*cp*dp", mesh.ep,
                            mesh.etp, mesh.stage_ranks()));
  for (const BlockRun& blocks : run.model.blocks)
    if (const FeedForward& f = blocks.block.feed_forward; f.has_experts())
      if (const auto reason = expert_refusal(f, mesh)) return fail(*reason);
  if (plan.dispatch_dtype && *plan.dispatch_dtype != precision_of(run.stack, plan) &&
      *plan.dispatch_dtype != Dtype::kFp8)
    return fail(
        fmt::format("dispatch_dtype {} is neither the precision nor fp8", name(*plan.dispatch_dtype)));
  const Dispatcher dispatcher = choices_of(run.model, run.stack, plan).experts.dispatcher;
  const bool copies_once = dispatcher == Dispatcher::kDeepEp || dispatcher == Dispatcher::kHybridEp;
  if (plan.dispatch_dtype == Dtype::kFp8 && !copies_once)
    return fail("dispatch_dtype fp8 needs dispatcher deepep or hybridep");
  if (plan.expert_products == ExpertProducts::kLoop && mesh.expert_ranks() > 1)
    return fail("expert_products loop needs ep 1 and etp 1");
  // A rank that holds all experts has every row, however they are spread.
  if (plan.ep > 1) TRY(check_imbalance(plan, most_imbalance(run.model, plan.ep)));
  if (plan.overlap_dispatch) TRY(check_overlap(run));
  TRY(check_fusion(run.stack, "permute_fusion", plan.permute_fusion,
                   {Condition::kPermuteEager, Condition::kPermuteFused}));
  TRY(check_fusion(run.stack, "router_fusion", plan.router_fusion,
                   {Condition::kRouterEager, Condition::kRouterFused}));
  const std::string routing =
      fmt::format("expert_imbalance={}: how tokens are routed is not known", kUsualImbalance);
  const bool said = std::find(run.assumed.begin(), run.assumed.end(), routing) != run.assumed.end();
  if (plan.ep > 1 && !plan.expert_imbalance && !plan.capacity_pad && !said) run.assumed.push_back(routing);
  return {};
}

}  // namespace foretrain
