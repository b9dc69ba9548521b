// What our pages share: one file each, no scripts, light or dark as the reader has it.
#pragma once

#include <string>
#include <string_view>

namespace foretrain {

std::string html_escaped(std::string_view text);  // and one line, whatever the bytes

// A plan's text, to be broken behind its commas.
std::string html_plan(std::string_view text);
// A paragraph a line.
std::string html_lines(std::string_view text);

// A page with this title as its heading; `style` goes after what all pages share.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

}  // namespace foretrain
