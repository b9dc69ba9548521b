// Bytes inside JSON (RFC 4648, section 4): A to Z, a to z, 0 to 9, + and /, filled up with =.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace foretrain {

// None: the text is not such.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace foretrain
