// Figures of accuracy as people read them: fractions as percent, "-" where there is none.
#pragma once

#include <string>

namespace foretrain {

std::string percent_text(double fraction);         // "12.5%"
std::string signed_percent_text(double fraction);  // "+12.5%"
std::string points_text(double fraction);          // "+1.4": percentage points, of a change

}  // namespace foretrain
