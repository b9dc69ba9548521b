#include "memory/workspaces.h"

namespace foretrain {
namespace {

struct Workspaces {
  double torch_mib = 0, engine_mib = 0;
};

Workspaces of(Architecture architecture) {
  switch (architecture) {
    case Architecture::kAmpere:
    case Architecture::kAda:
      break;
    case Architecture::kHopper:
    case Architecture::kBlackwell:
      return {32, 32};
    case Architecture::kCdna3:
      return {128, 32};
    case Architecture::kCdna4:
      return {128, 64};
  }
  return {8 + 0.125, 4};
}

}  // namespace

Bytes workspace_bytes(const Stack& stack, const Gpu& gpu, bool has_experts) {
  const Stack::States& kept = stack.states;
  const Workspaces each = of(gpu.architecture);
  const std::int64_t engines = kept.engine_workspaces + (has_experts ? kept.grouped_workspaces : 0);
  return mib(each.torch_mib) * static_cast<double>(kept.torch_workspaces) +
         mib(each.engine_mib) * static_cast<double>(engines);
}

}  // namespace foretrain
