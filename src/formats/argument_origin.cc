#include "formats/argument_origin.h"

namespace foretrain {

SaidArgument said_argument(std::string_view text) {
  for (const std::string_view origin : {"updated", "default"}) {
    if (!text.ends_with(origin)) continue;
    const std::string_view before = text.substr(0, text.size() - origin.size());
    const std::size_t end = before.find_last_not_of('.');
    const std::size_t length = end == std::string_view::npos ? 0 : end + 1;
    // A dictionary may be as wide as the column.
    if (before.size() - length >= 3 || before.ends_with('}') || before.ends_with(']'))
      return {before.substr(0, length), origin == "default"};
  }
  return {text, false};
}

}  // namespace foretrain
