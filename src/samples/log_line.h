// A line of a log as trainers print it: terminal colours dropped, figures found by the words before them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace foretrain {

// Without escape sequences (ESC [ ... letter), the bare "[36m" that remains of one where a document lost its
// ESC, and other control characters.
std::string without_colours(std::string_view line);

struct LogNumber {
  double value = 0;
  std::string_view unit;  // letters that follow at once: "ms", "GiB"; of "11.5K" none, and the value is 11500
  std::string_view rest;  // what follows the unit
};

// At the beginning, after spaces and quotes: "1,234.5", "1.2E+03", "11.5K", "546M", "2.1B".
std::optional<LogNumber> leading_number(std::string_view text);

// The number behind the first `key` that stands for itself and has ':', '=', ':=' or spaces and then a number
// behind it: "lr: 3e-5", "'loss': '2.1'", "iteration   10/  100".
std::optional<LogNumber> number_after(std::string_view line, std::string_view key);

// Seconds of a stamp such as "2025-06-16 22:30:48,735", of days since 1970; none where the line's beginning
// holds none.
std::optional<double> time_stamp(std::string_view line);

}  // namespace foretrain
