// Compressed text at the border (RFC 1952), by zlib.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace foretrain {

bool is_gzip(std::string_view bytes);

// All members one after another. Refuses what is broken, cut short, or unpacks to more than max_bytes.
Result<std::string> gunzip(std::string_view bytes, std::size_t max_bytes, const std::string& file_name);

// The bytes packed, for tests.
std::string gzip(std::string_view bytes);

}  // namespace foretrain
