// A plan as people write it: a YAML map, or the command line's
//   tp=4,pp=2,recompute=full,layers_per_stage=11-12-12-9
#pragma once

#include <string>
#include <string_view>

#include "base/yaml.h"
#include "spec/plan.h"

namespace foretrain {

// Whether `recompute` may name it in place of its own words.
bool is_recompute_module(std::string_view word);

Result<Plan> parse_plan(const Node& node, Plan start = {});
Result<Plan> parse_plan(std::string_view text, Plan start = {});
// The command line's form: what differs from the default, or from another plan.
std::string to_text(const Plan& plan, const Plan& other = {});

}  // namespace foretrain
