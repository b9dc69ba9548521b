// The JSON Schemas of answers, which travel inside the program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

std::vector<std::string> schema_names();
std::optional<std::string_view> schema_of(
    std::string_view name);  // its text; absent: there is none of that name

}  // namespace foretrain
