#include "job/context_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "job/choices.h"

namespace foretrain {
namespace {

std::string_view name_of(CpType type) { return kCpTypeNames[static_cast<std::size_t>(type)]; }

// Keys that speak of context ranks where there is one.
std::optional<std::string> said_of_one(const Plan& plan) {
  if (plan.cp_type) return "cp_type needs cp > 1";
  if (plan.cp_a2a > 0) return "cp_a2a needs cp > 1";
  return std::nullopt;
}

std::optional<std::string> stack_refusal(const Stack& stack, CpType type) {
  const CpTypes& types = stack.context_parallel.types;
  if (types.has(type)) return std::nullopt;
  if (types.empty())
    return fmt::format("stack {} has no context parallelism: cp must be 1", quoted(stack.name));
  std::vector<std::string_view> known;
  for (int i = 0; i < kCpTypeCount; ++i)
    if (types.has(static_cast<CpType>(i))) known.push_back(kCpTypeNames[static_cast<std::size_t>(i)]);
  return fmt::format("stack {} has no cp_type {}, expected {}", quoted(stack.name), name_of(type),
                     fmt::join(known, ", "));
}

// The all-to-alls of a hierarchy are its inner groups.
std::optional<std::string> hierarchy_refusal(const Plan& plan, CpType type) {
  if (type != CpType::kHierarchical)
    return plan.cp_a2a > 0 ? std::optional<std::string>("cp_a2a needs cp_type a2a+p2p") : std::nullopt;
  if (plan.cp_a2a == 0) return "cp_type a2a+p2p needs cp_a2a, the ranks of each all-to-all";
  if (plan.cp_a2a == 1 || plan.cp_a2a >= plan.cp || plan.cp % plan.cp_a2a != 0)
    return fmt::format("cp_a2a {} is not a divisor of cp {} between 1 and it", plan.cp_a2a, plan.cp);
  return std::nullopt;
}

std::optional<std::string> attention_refusal(const Run& run, CpType type) {
  const Stack::ContextParallel& has = run.stack.context_parallel;
  const bool ring = type == CpType::kP2p || type == CpType::kHierarchical;
  for (const BlockRun& blocks : run.model.blocks) {
    const Attention& a = blocks.block.attention;
    if (a.is_latent() && !ring && !has.latent_by_a2a)
      return fmt::format("stack {} has latent attention with cp_type p2p and a2a+p2p alone",
                         quoted(run.stack.name));
    if (a.window > 0 && a.window < run.seq && ring)
      return "sliding windows need cp_type a2a or allgather: a ring has blocks that no query sees";
    const std::int64_t a2a = choices_of(run.model, run.stack, run.plan).context.a2a;
    if (auto reason = a2a_refusal(a, run.plan.tp, a2a, has.copies_kv)) return reason;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> a2a_refusal(const Attention& a, std::int64_t tp, std::int64_t ranks,
                                       bool copies_kv) {
  if (ranks == 1) return std::nullopt;
  const std::int64_t heads = std::max<std::int64_t>(a.heads / tp, 1),
                     kv = std::max<std::int64_t>(a.kv_heads / tp, 1);
  if (heads % ranks != 0)
    return fmt::format("all-to-alls of {} context ranks do not divide heads/tp = {}/{}", ranks, a.heads, tp);
  if (kv % ranks == 0 || (copies_kv && ranks % kv == 0)) return std::nullopt;
  return fmt::format("all-to-alls of {} context ranks do not divide kv_heads/tp = {}/{}{}", ranks, a.kv_heads,
                     tp, copies_kv ? " nor are a multiple of it" : "");
}

std::optional<std::string> context_refusal(const Run& run) {
  const Plan& plan = run.plan;
  if (plan.cp == 1) return said_of_one(plan);
  const CpType type = cp_type_of(run.stack, plan);
  if (auto reason = stack_refusal(run.stack, type)) return reason;
  if (auto reason = hierarchy_refusal(plan, type)) return reason;
  if (type == CpType::kHierarchical && run.documents.stated())
    return "cp_type a2a+p2p does not go with packed documents";
  if (attention_of(run.stack, plan) != AttentionKind::kFlash) return "cp > 1 needs attention flash";
  // Halves from both ends of the sequence give every rank as many pairs of queries and keys.
  const std::int64_t parts = type == CpType::kA2a ? plan.cp : 2 * plan.cp;
  if (run.seq % parts != 0)
    return fmt::format("{} = {} does not divide seq {}", type == CpType::kA2a ? "cp" : "2*cp", parts,
                       run.seq);
  return attention_refusal(run, type);
}

}  // namespace foretrain
