// The rules of what a plan says of experts; a part of check_run.
#pragma once

#include "base/result.h"
#include "spec/run.h"

namespace foretrain {

// Adds to `assumed` that the routing is not known, where nobody stated it.
Result<void> check_experts(Run& run);

// Of it what no degree of parallelism could mend: what the plan says of experts; with `any_ep` on whatever number of
// expert-parallel ranks, for who knows a part of a plan only.
Result<void> check_expert_choices(const Run& run, bool any_ep = false);

}  // namespace foretrain
