// foretrain: reads the command line, calls one subcommand, returns its exit status.
#include <malloc.h>
#include <signal.h>

#include "ask/guard.h"
#include "base/file.h"
#include "command_line.h"
#include "make_team.h"
#include "output.h"
#include "typed_files.h"

namespace foretrain {
namespace {

int run(int argc, char** argv, Team* team) {
  const std::vector<std::unique_ptr<Command>> commands = all_commands();
  const auto line = read_command_line(argc, argv, commands);
  if (!line) return refuse(line.error(), [](std::string_view field) { return "--" + std::string(field); });
  if (line->command == nullptr) return tell(line->told);
  const TypedFiles files;
  Session session(files, line->presets);
  const auto status = line->command->run(session, team);
  if (status) return *status;
  return refuse(status.error(), [&](std::string_view field) { return line->command->word(field); });
}

// Threads take memory page by page where they are not told to take more at once, and each time the others wait. Large blocks
// go back to the system as they would without this.
void take_memory_at_once() {
  constexpr int kAtOnce = 16 << 20, kLarge = 4 << 20;
  mallopt(M_TOP_PAD, kAtOnce);
  mallopt(M_MMAP_THRESHOLD, kLarge);
}

}  // namespace
}  // namespace foretrain

int main(int argc, char** argv) {
  // A reader that goes away and a file that may not grow are told by write(), not by a signal that ends us.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  foretrain::take_memory_at_once();
  foretrain::keep_standard_numbers();
  const auto status = foretrain::guarded([&]() -> foretrain::Result<int> {
    const std::unique_ptr<foretrain::Team> team = foretrain::make_team(argc, argv);
    return foretrain::run(argc, argv, team.get());
  });
  return status ? *status : foretrain::refuse(status.error(), {});
}
