// Figures as people read them: changes with a sign, fractions as percent, "-" where there is none.
#pragma once

#include <string>

namespace foretrain {

std::string signed_text(double value, int decimals);  // "+1.4", "-0.3"; "0.0" of what rounds to it

std::string percent_text(double fraction);         // "12.5%"
std::string signed_percent_text(double fraction);  // "+12.5%"
std::string points_text(double fraction);          // "+1.4": percentage points, of a change

}  // namespace foretrain
