#include "base/utf8.h"

namespace foretrain {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                             : lead >= 0xe0 && lead <= 0xef ? 3
                             : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // The second byte's range rules out overlong forms, surrogates, and what lies past U+10FFFF.
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) > 0x9f) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

bool utf8_printable(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  switch (utf8_length(character)) {
    case 1:
      return byte(0) >= 0x20 && byte(0) != 0x7f;
    case 2:
      return byte(0) != 0xc2 || byte(1) >= 0xa0;  // U+0080 to U+009F
    case 3:
      if (byte(0) != 0xe2) return true;
      return !(byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae) &&
             !(byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);
    case 4:
      return true;
    default:
      return false;
  }
}

}  // namespace foretrain
