// foretrain help: what --help tells, and what stands behind words that take many keys.
#include <algorithm>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "command.h"
#include "command_table.h"
#include "help_text.h"
#include "output.h"

namespace foretrain {
namespace {

class Help final : public Command {
 public:
  const char* name() const override { return "help"; }
  const char* what() const override { return "What a subcommand takes, or the keys of a plan"; }
  const char* example() const override { return "foretrain help predict"; }
  void declare(Options& options) override {
    options.argument("SUBCOMMAND", about_,
                     "A subcommand, or plan: the keys of --plan; without it, the program", Takes::kCommand);
  }
  std::string word(std::string_view field) const override {
    return field == "about" ? "help" : Command::word(field);
  }
  Result<int> run(Session&, Team*) override {
    std::vector<std::string> known = CommandTables().names();
    for (const std::string& topic : help_topics()) known.push_back(topic);
    if (!about_.empty() && std::find(known.begin(), known.end(), about_) == known.end())
      return fail_field("about", "unknown subcommand " + quoted(about_) + suggestion(about_, known));
    return tell(help_text(about_, help_width(terminal())));
  }

 private:
  std::string about_;
};

}  // namespace

std::unique_ptr<Command> help_command() { return std::make_unique<Help>(); }

}  // namespace foretrain
