#include "validate/row_stack.h"

namespace foretrain {

std::vector<std::string> stacks_named_by(const MeasuredRow& row) {
  std::vector<std::string> names;
  const bool pipelined_by_compiler = row.stack == "torchtitan" && row.notes.find("tp_mode");
  if (row.notes.has("torch.compile") || pipelined_by_compiler) names.push_back(row.stack + "-compile");
  const bool deepspeed =
      row.stack.find("deepspeed") != std::string::npos || row.stack.starts_with("megatron");
  if (deepspeed && row.zero == 3 && row.attention == AttentionKind::kUnfused)
    names.emplace_back("deepspeed-zero3-2021");
  names.push_back(row.stack);
  return names;
}

}  // namespace foretrain
