#include "job/length_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "job/choices.h"
#include "job/packing.h"

namespace foretrain {
namespace {

std::string_view word_of(LossKind kind) { return kLossNames[static_cast<std::size_t>(kind)]; }

Result<void> check_loss(const Run& run) {
  const Plan& plan = run.plan;
  const LossKind kind = plan.loss.value_or(run.stack.loss.kind);
  if (!offers(run.stack, kind)) {
    std::vector<std::string_view> others;
    for (const LossKind other : {LossKind::kWhole, LossKind::kChunked, LossKind::kFused})
      if (offers(run.stack, other)) others.push_back(word_of(other));
    return fail(fmt::format("stack {} offers no loss {}, expected {}", quoted(run.stack.name), word_of(kind),
                            fmt::join(others, " or ")));
  }
  if (plan.loss_chunks > 0 && kind == LossKind::kWhole)
    return fail("loss_chunks needs loss=chunked or loss=fused");
  if (kind == LossKind::kFused && plan.tp > 1)
    return fail("loss fused needs tp 1: its kernel takes whole rows of logits");
  return {};
}

Result<void> check_tiles(const Run& run) {
  const Plan& plan = run.plan;
  if (plan.mlp_chunks == 1) return {};
  const auto dense = [](const BlockRun& blocks) { return !blocks.block.feed_forward.has_experts(); };
  if (!std::any_of(run.model.blocks.begin(), run.model.blocks.end(), dense))
    return fail(fmt::format("mlp_chunks needs a dense MLP, and model {} has none", quoted(run.model.name)));
  if (plan.recompute_modules.has(RecomputeModule::kMlp))
    return fail("mlp_chunks runs the MLP again by itself: leave mlp out of recompute_modules");
  return {};
}

}  // namespace

Result<void> check_pieces(const Run& run) {
  TRY(check_loss(run));
  return check_tiles(run);
}

Result<void> check_documents(const Run& run) {
  const Documents& documents = run.documents;
  if (!documents.stated()) {
    if (run.plan.document_imbalance) return fail("document_imbalance needs documents of the run");
    return {};
  }
  std::int64_t sum = 0;
  for (const std::int64_t length : documents.lengths) sum += length;
  if (!documents.lengths.empty() && sum != run.seq)
    return fail(
        fmt::format("documents have {} tokens in all, expected those of a sequence, {}", sum, run.seq));
  for (const BlockRun& blocks : run.model.blocks)
    if (place_of(run.model, blocks.block.attention.window) >= kMostWindows)
      return fail(fmt::format("documents go with at most {} windows that differ, and model {} has more",
                              kMostWindows, quoted(run.model.name)));
  return {};
}

std::vector<std::string> assumed_of_documents(const Run& run) {
  std::vector<std::string> lines;
  const Documents& documents = run.documents;
  if (!documents.stated()) return lines;
  const Part& attention =
      run.stack.parts.attention[static_cast<std::size_t>(attention_of(run.stack, run.plan))];
  const bool by_document = std::any_of(attention.begin(), attention.end(), [&run](const PartOperator& op) {
    return op.kind == OperatorKind::kAttention && (op.impl != Impl::kMasked || run.plan.attention_kernel);
  });
  if (!by_document) {
    lines.emplace_back("documents: this attention works on whole sequences all the same");
    return lines;
  }
  if (documents.mean == 0) return lines;
  lines.push_back(
      fmt::format("documents: lengths exponential about {}, cut to the sequence", documents.mean));
  const Packing packing = packing_of(run.model, documents, run.seq);
  const double sequences = static_cast<double>(run.global_batch) / static_cast<double>(run.plan.dp);
  const double imbalance = usual_document_imbalance(packing, sequences, run.plan.dp);
  if (!run.plan.document_imbalance && imbalance > 1)
    lines.push_back(fmt::format("document_imbalance={:.2f}: as random documents have it over {} ranks",
                                imbalance, run.plan.dp));
  return lines;
}

}  // namespace foretrain
