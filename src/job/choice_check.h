// The rules of what a plan chooses for its layers: what is run again, whose attention, which fusions; a part of check_run.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "spec/run.h"

namespace foretrain {

Result<void> check_choices(const Run& run);

// A plan's word on a fusion, of the operators that stand under these conditions, without it and with it. A stack that
// launches the same either way says so by having no operators for it.
Result<void> check_fusion(const Stack& stack, std::string_view key, std::optional<bool> fused,
                          const std::array<Condition, 2>& when);

}  // namespace foretrain
