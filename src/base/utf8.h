// UTF-8, byte by byte (RFC 3629): what may be printed, what must be escaped, what is not text at all.
#pragma once

#include <cstddef>
#include <string_view>

namespace foretrain {

// Bytes of the well-formed character at the start of `text` (1 to 4); 0 where it is malformed or empty.
std::size_t utf8_length(std::string_view text);

// The character takes a place on the line: well formed, and neither a control character (C0, DEL, C1) nor one
// that breaks or reorders lines (U+2028 to U+202E, U+2066 to U+2069). `character` is one utf8_length long.
bool utf8_printable(std::string_view character);

}  // namespace foretrain
