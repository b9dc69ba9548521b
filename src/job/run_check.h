// The rules that bind model, plan, stack and cluster together.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "spec/run.h"

namespace foretrain {

// What a plan asks for that the program does not model yet, in few words ("precision fp8").
std::optional<std::string> not_modelled(const Plan& plan);

// Why so many tensor ranks cannot share a block, in words that name the width; none: they can.
std::optional<std::string> tensor_refusal(const Block& block, std::int64_t tp);

// Every rule that binds model, plan and cluster together: divisibility, sizes, features not modelled yet.
// Derives plan.dp where it is 0, and adds to `assumed` what the run rests on without saying so.
Result<void> check_run(Run& run);

}  // namespace foretrain
