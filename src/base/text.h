// Small text: splitting, trimming, strict number reading, and numbers as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace foretrain {

std::vector<std::string_view> split(std::string_view text, char separator);  // "a,,b" has three parts
std::string_view trim(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// The whole text must be one number; no leading '+', no spaces, no NaN or infinity.
std::optional<std::int64_t> parse_integer(std::string_view text);
// Likewise with k for 1024 and M for a million behind it, as people count tokens: 128k is 131072, 4M 4,000,000.
std::optional<std::int64_t> parse_count(std::string_view text);
std::optional<double> parse_number(std::string_view text);

// For messages: one line, whatever the bytes. printable() escapes what utf8_printable() refuses as \n, \t or
// \xNN; quoted() also puts it between single quotes and cuts it to 60 characters ('abc...').
std::string printable(std::string_view text);
std::string quoted(std::string_view text);

// Three significant digits, trailing zeros dropped.
std::string human_seconds(Seconds t);     // "17.4 s", "310 ms", "4.2 us", "3.1 days"
std::string human_bytes(Bytes b);         // "61.2 GiB", "812 MiB"
std::string human_count(double n);        // "20.6 B", "812 M", "12.3 k"
std::string with_commas(std::int64_t n);  // "1,234,567"

}  // namespace foretrain
