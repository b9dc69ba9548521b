#include "validate/row_feature.h"

#include <algorithm>

#include "job/fine_tuning.h"
#include "job/precision.h"

namespace foretrain {
namespace {

using Has = std::array<bool, kFeatureNames.size()>;

std::vector<std::string> names_of(const Has& has) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < has.size(); ++i)
    if (has[i]) out.emplace_back(kFeatureNames[i]);
  return out;
}

}  // namespace

std::vector<std::string> features_of(const MeasuredRow& row) {
  const auto stated = [](const std::string& word, std::string_view usual) {
    return !word.empty() && word != usual;
  };
  const bool experts = row.experts.value_or(0) > 0;
  return names_of({
      !experts,
      experts,
      row.notes.says("mla", "1"),
      row.precision && is_scaled(*row.precision),
      row.cp.value_or(1) > 1,
      stated(row.task, "pretrain") || stated(row.peft, "none"),
  });
}

std::vector<std::string> features_of(const Run& run) {
  const auto any_block = [&run](auto has) {
    return std::any_of(run.model.blocks.begin(), run.model.blocks.end(),
                       [&has](const BlockRun& blocks) { return has(blocks.block); });
  };
  const bool experts = any_block([](const Block& block) { return block.feed_forward.has_experts(); });
  return names_of({
      !experts,
      experts,
      any_block([](const Block& block) { return block.attention.is_latent(); }),
      low_precision_of(run.stack, run.plan).is_narrow(),
      run.plan.cp > 1,
      task_of(run) != TrainingTask::kPretrain,
  });
}

}  // namespace foretrain
