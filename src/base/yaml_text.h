// The way back from values to YAML: a string in double quotes, and a quantity in a file's unit, so that
// reading `text * unit` gives the same value again.
#pragma once

#include <string>
#include <string_view>

namespace foretrain {

std::string yaml_quoted(std::string_view text);
std::string in_units_of(double unit, double value);

}  // namespace foretrain
