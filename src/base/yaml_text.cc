#include "base/yaml_text.h"

#include <fmt/format.h>

#include "base/text.h"

namespace foretrain {

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string in_units_of(double unit, double value) {
  // value / unit may miss the file's figure by its last bit; the shortest text that multiplies back to the
  // value is that figure.
  for (int digits = 1; digits < 17; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value / unit, digits);
    if (const auto number = parse_number(text); number && *number * unit == value) return text;
  }
  return fmt::format("{:.17g}", value / unit);
}

}  // namespace foretrain
