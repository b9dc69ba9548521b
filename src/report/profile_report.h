// A profile: whose GPU it is, where its samples come from, and its models of operators, a line each.
//   name     h200-141gb-sxm
//   gpu      h200-141gb-sxm
//   models   63, of 41,200 samples
#pragma once

#include <string>

#include "cost/profile_store.h"

namespace foretrain {

std::string profile_text(const LoadedProfile& profile);
std::string profile_json(const LoadedProfile& profile);

// Of the name that stands for no profile: datasheets and formulas.
std::string analytic_profile_text();
std::string analytic_profile_json();

}  // namespace foretrain
