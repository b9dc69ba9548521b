// What can be read of a shell script without running it: assignments (also of arrays, `+=`, `export`), defaults (`${X:-8}`),
// quotes, arithmetic and continued lines, as if nothing were set in the environment. What hangs on a condition, a loop, a function, another
// file or the output of a program is not known: a word that needs it is marked, with the reason.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/shell_expansion.h"

namespace foretrain {

struct ShellCommand {
  std::vector<ShellWord> words;
  bool conditional = false;  // it stands in a branch, a loop or a function
};

struct ShellScript {
  std::vector<ShellCommand> commands;
  std::map<std::string, std::string> variables;  // those that are known, at the end
  std::map<std::string, std::string> files;      // that it writes itself: cat > NAME <<EOF ... EOF
};

// All simple commands, in order, their words expanded; a word that is a command line itself is told as its words. Refuses text whose quotes or parentheses do not end.
Result<ShellScript> shell_commands(std::string_view text, const std::string& file);

}  // namespace foretrain
