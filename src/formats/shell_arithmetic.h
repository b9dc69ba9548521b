// $((NODES * 8)): whole numbers with + - * / %, parentheses, and variables that are known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace foretrain {

using ShellLookup = std::function<std::optional<std::string>(std::string_view name)>;

// None where anything else stands in it, a variable is not known, or a number leaves 64 bits.
std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellLookup& variable);

}  // namespace foretrain
