#include "formats/relaxed_json.h"

namespace foretrain {
namespace {

// Where a comment that begins at i ends; i itself: none begins there.
std::size_t comment_end(std::string_view text, std::size_t i) {
  const std::string_view rest = text.substr(i);
  if (rest.starts_with("/*")) {
    const std::size_t end = text.find("*/", i + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  if (!rest.starts_with("//") && !rest.starts_with("#")) return i;
  const std::size_t end = text.find('\n', i);
  return end == std::string_view::npos ? text.size() : end;
}

}  // namespace

std::string relaxed_json(std::string_view text) {
  std::string out(text);
  std::size_t comma = std::string::npos;  // the last sign, where it is one
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '"') {
      for (++i; i < out.size() && out[i] != '"'; ++i)
        if (out[i] == '\\') ++i;
      comma = std::string::npos;
      continue;
    }
    if (const std::size_t end = comment_end(text, i); end > i) {
      for (; i < end; ++i)
        if (out[i] != '\n') out[i] = ' ';
      --i;
      continue;
    }
    if (out[i] == ' ' || out[i] == '\t' || out[i] == '\n' || out[i] == '\r') continue;
    if ((out[i] == '}' || out[i] == ']') && comma != std::string::npos) out[comma] = ' ';
    comma = out[i] == ',' ? i : std::string::npos;
  }
  return out;
}

}  // namespace foretrain
