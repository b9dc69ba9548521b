// Reads the command line. What is wrong with its words is told in our own form, in one line.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "command.h"
#include "terminal.h"

namespace foretrain {

struct CommandLine {
  std::string told;            // help or the version, where they were asked for; then there is no command
  Command* command = nullptr;  // its options read
  std::string presets;
  Terminal terminal;
};
Result<CommandLine> read_command_line(int argc, char** argv,
                                      std::span<const std::unique_ptr<Command>> commands);

}  // namespace foretrain
