// What the tests of this folder share.
#pragma once

#include <string>

#include "base/check.h"
#include "base/result.h"

namespace foretrain {

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : result.error().text();
}

// `text` with its first `from` replaced; `from` must be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  CHECK_THAT(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace foretrain
