// From the columns of a measured row to a plan. What the row does not say is filled in and listed in `assumed`
// ("vpp=1"); so is what it says and no plan has a key for ("cuda_graph=none").
#pragma once

#include <string>
#include <vector>

#include "spec/plan.h"
#include "spec/stack.h"
#include "validate/measured_row.h"

namespace foretrain {

// Of a row whose columns tp, pp, micro_batch and precision are known. Recomputation and ZeRO are left at
// their defaults where the row does not state them.
Result<Plan> plan_of(const MeasuredRow& row, const Stack& stack, std::vector<std::string>& assumed);

}  // namespace foretrain
