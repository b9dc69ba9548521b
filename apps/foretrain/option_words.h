// Words of options that several subcommands take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace foretrain {

// Empty: not given, 0. The upper limits are the run's to check, for a file states the same figures.
Result<std::int64_t> count_option(std::string_view option, const std::string& word);

// "300e9", "300B", "1.5T", "10M"; of what, for the message.
Result<double> amount_option(std::string_view option, std::string_view word);

// However they are written: "a.json", "./a.json", a link.
bool same_file(const std::string& a, const std::string& b);

}  // namespace foretrain
