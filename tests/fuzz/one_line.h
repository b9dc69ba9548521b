// What an error must be: one short line that says where and what.
#pragma once

#include <algorithm>
#include <string>

#include "base/result.h"

namespace foretrain {

// What is wrong with it; nothing: empty.
inline std::string fault_of(const Error& error) {
  const std::string text = error.text();
  if (text.find(": error: ") == std::string::npos) return "an error says where and what: " + text;
  if (std::any_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }))
    return "an error is one line: " + text;
  if (text.size() >= 1000) return "an error is short: " + text;
  return {};
}

}  // namespace foretrain
