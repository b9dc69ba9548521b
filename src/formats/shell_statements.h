// A shell script cut into its statements: at newlines, ';', '&&', '||', '|' and '&' outside quotes and parentheses; comments
// dropped, continued lines joined, here-documents apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretrain {

struct ShellStatement {
  std::string text;
  int line = 0;
  bool after_test = false;  // it follows a test by && or ||, and may not run
  std::string document;     // what stands between <<EOF and EOF
};

// Of a variable's name.
constexpr bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Refuses text whose quotes or parentheses do not end.
Result<std::vector<ShellStatement>> shell_statements(std::string_view text, const std::string& file);

}  // namespace foretrain
