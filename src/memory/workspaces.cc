#include "memory/workspaces.h"

namespace foretrain {

Bytes workspace_bytes(const Stack& stack, const Gpu& gpu, bool has_experts) {
  const Stack::States& kept = stack.states;
  const bool large = gpu.rate(Dtype::kFp8).value > 0;
  const Bytes torch = mib(large ? 32 : 8 + 0.125), engine = mib(large ? 32 : 4);
  const std::int64_t engines = kept.engine_workspaces + (has_experts ? kept.grouped_workspaces : 0);
  return torch * static_cast<double>(kept.torch_workspaces) + engine * static_cast<double>(engines);
}

}  // namespace foretrain
