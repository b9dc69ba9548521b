// The subcommands, in the order in which help tells them.
#include "command.h"

namespace foretrain {

std::vector<std::unique_ptr<Command>> all_commands() {
  using Maker = std::unique_ptr<Command> (*)();
  constexpr Maker kMakers[] = {predict_command,  search_command,    diagnose_command,  validate_command,
                               accuracy_command, calibrate_command, cost_command,      fit_command,
                               import_command,   list_command,      show_command,      convert_command,
                               capture_command,  serve_command,     sampler_command,   schema_command,
                               help_command,     man_command,       completion_command};
  std::vector<std::unique_ptr<Command>> commands;
  for (const Maker make : kMakers) commands.push_back(make());
  return commands;
}

}  // namespace foretrain
