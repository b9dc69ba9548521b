#include "wire/base64.h"

namespace foretrain {
namespace {

// The six bits that a sign stands for; -1: none.
int bits_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t filled = 0;
  while (filled < 2 && text.ends_with('=')) text.remove_suffix(1), ++filled;
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  unsigned held = 0;
  int count = 0;
  for (const char c : text) {
    const int bits = bits_of(c);
    if (bits < 0) return std::nullopt;
    held = (held << 6 | static_cast<unsigned>(bits)) & 0xFFFFFF;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(held >> count & 0xFF);
  }
  return out;
}

}  // namespace foretrain
