// What stdout is, and texts as it shows them. A terminal's lines are fitted to its width: sentences go on below, rows of
// tables are cut, but for what their last column says; colours mark what a reader looks for first. A pipe or a file gets
// the text as it is, always.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace foretrain {

struct Terminal {
  std::size_t width = std::string::npos;  // of a terminal in places; of none: no end
  bool colour = false;
  bool unicode = false;

  bool fits_lines() const { return width != std::string::npos; }
};

// `colour`: auto (or empty), always or never.
Result<Terminal> terminal_of(std::string_view colour);

// COLUMNS, where it is a width that anything can be told in, or what the terminal says; npos where there is none.
std::size_t columns_of_stdout();

// Of help, which is always in lines: the terminal's, a hundred elsewhere, and not more than is read with ease.
std::size_t help_width(const Terminal& terminal);

std::string fitted(std::string_view text, const Terminal& terminal);

}  // namespace foretrain
