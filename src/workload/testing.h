// What tests of passes share.
#pragma once

#include <algorithm>

#include "workload/pass_shape.h"

namespace foretrain {

// Of a plan for one replica where it states no dp, with one micro-batch a step or several.
inline PassShape shape_of(const Model& model, Plan plan, const Stack& stack, std::int64_t seq,
                          bool accumulates) {
  plan.dp = std::max<std::int64_t>(plan.dp, 1);
  const Setting setting{model, {}, stack, seq};
  return pass_shape(job_of(setting, plan, plan.dp * plan.micro_batch * (accumulates ? 2 : 1)));
}

}  // namespace foretrain
