#include "job/graph_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "job/choices.h"

namespace foretrain {

std::optional<std::string> uncaptured(const Stack& stack, GraphModules scope) {
  if (scope.empty()) return std::nullopt;
  const GraphModules offers = stack.cuda_graphs.offers;
  if (offers.empty())
    return fmt::format("cuda_graph: stack {} captures none, expected none", quoted(stack.name));
  std::vector<std::string_view> known = {kNoGraph};
  for (std::size_t i = 0; i < kGraphModuleNames.size(); ++i)
    if (offers.has(static_cast<GraphModule>(i))) known.push_back(kGraphModuleNames[i]);
  for (std::size_t i = 0; i < kGraphModuleNames.size(); ++i)
    if (const auto module = static_cast<GraphModule>(i); scope.has(module) && !offers.has(module))
      return fmt::format("cuda_graph: stack {} does not capture {}, expected {}", quoted(stack.name),
                         kGraphModuleNames[i], fmt::join(known, ", "));
  return std::nullopt;
}

namespace {

// Whether the host reads what operators under a condition make.
bool reads(const Part& part, Condition when) {
  return std::any_of(part.begin(), part.end(),
                     [&](const PartOperator& op) { return op.when == when && op.waits > 0; });
}

}  // namespace

std::optional<std::string> graph_refusal(const Run& run) {
  const Choices choices = choices_of(run.model, run.stack, run.plan);
  const GraphChoices& graphs = choices.graphs;
  if (!graphs.any()) return std::nullopt;
  if (auto reason = uncaptured(run.stack, graphs.scope)) return reason;
  if (graphs.preprocess && !graphs.router) return "cuda_graph: moe_preprocess needs moe_router";
  // Transformer Engine's graphs hold no checkpoint of whole layers; one of the whole step does.
  if (run.plan.recompute == Recompute::kFull && !graphs.step)
    return "cuda_graph: graphs of layers do not go with recompute=full, expected full or none";
  // Megatron Core's transformer_config.py: graphs are not supported with CPU offloading.
  if (run.plan.offload) return "cuda_graph: graphs do not go with offload=1, expected none";
  if (run.stack.host.syncs_per_layer > 0)
    return "cuda_graph: the stack waits for the GPU in every layer, which no graph can hold";
  if (!has_experts(run.model)) return std::nullopt;
  const ExpertChoices& experts = choices.experts;
  if (graphs.experts && choices.expert_products == ExpertProducts::kLoop)
    return "cuda_graph: a loop over experts is not captured";
  if (graphs.experts && (experts.syncs || experts.reads))
    return "cuda_graph: the host waits for how many rows each expert gets, which no graph can hold: expected "
           "expert_sync=0 or capacity_pad=1, or attn+moe_router+moe_preprocess";
  // How many rows reach a rank changes from step to step, and a graph holds one number of them: NCCL's dispatchers have no
  // buffer of the largest.
  const bool nccl =
      experts.dispatcher == Dispatcher::kAllToAll || experts.dispatcher == Dispatcher::kAllGather;
  if (graphs.experts && nccl && run.plan.ep > 1 && !run.plan.capacity_pad)
    return fmt::format(
        "cuda_graph: with dispatcher {} the number of rows that a rank gets changes, which no graph can "
        "hold: expected capacity_pad=1, deepep or hybridep",
        kDispatcherNames[static_cast<std::size_t>(experts.dispatcher)]);
  const Part& moves = run.stack.parts.dispatch[static_cast<std::size_t>(experts.dispatcher)];
  if (graphs.preprocess && experts.reads && !experts.permute_fused && reads(moves, Condition::kPermuteEager))
    return "cuda_graph: moe_preprocess needs permute_fusion=1: else the host reads what moves rows";
  return std::nullopt;
}

}  // namespace foretrain
