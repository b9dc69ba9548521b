#include "validate/row_feature.h"

namespace foretrain {

std::vector<std::string> features_of(const MeasuredRow& row) {
  const auto stated = [](const std::string& word, std::string_view usual) {
    return !word.empty() && word != usual;
  };
  const bool experts = row.experts.value_or(0) > 0;
  const std::array<bool, kFeatureNames.size()> has = {
      !experts,
      experts,
      row.notes.says("mla", "1"),
      row.precision && is_scaled(*row.precision),
      row.cp.value_or(1) > 1,
      stated(row.task, "pretrain") || stated(row.peft, "none"),
  };
  std::vector<std::string> out;
  for (std::size_t i = 0; i < has.size(); ++i)
    if (has[i]) out.emplace_back(kFeatureNames[i]);
  return out;
}

}  // namespace foretrain
