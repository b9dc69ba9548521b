// The manual page foretrain(1) in troff's man macros, from the tables of options.
#pragma once

#include <string>

namespace foretrain {

std::string man_page();

}  // namespace foretrain
