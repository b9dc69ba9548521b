// foretrain completion: a script for a shell, and what such a script asks.
#include <utility>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "command.h"
#include "completion_scripts.h"
#include "completions.h"
#include "output.h"

namespace foretrain {
namespace {

constexpr std::pair<std::string_view, std::string_view> kScripts[] = {
    {"bash", kBashScript}, {"zsh", kZshScript}, {"fish", kFishScript}};

class Completion final : public Command {
 public:
  const char* name() const override { return "completion"; }
  const char* what() const override { return "A script that completes foretrain's words in a shell"; }
  const char* example() const override {
    return "source <(foretrain completion bash)\n"
           "  foretrain completion zsh > ~/.zfunc/_foretrain\n"
           "  foretrain completion fish > ~/.config/fish/completions/foretrain.fish";
  }
  void declare(Options& options) override {
    options.argument("SHELL", shell_, "bash, zsh or fish", {"bash", "zsh", "fish"});
    options.option(
        "--line", "WORDS", line_,
        "What those scripts ask: the words of a line to the cursor, one a line, and what could stand "
        "for the last");
  }
  std::string word(std::string_view field) const override {
    return field == "shell" ? "completion" : Command::word(field);
  }
  Result<int> run(Session&, Team*) override {
    if (!line_.empty()) {
      std::vector<std::string> words;
      for (const std::string_view word : split(line_, '\n')) words.emplace_back(word);
      return tell(to_text(completions(words)));
    }
    std::vector<std::string> known;
    for (const auto& [shell, script] : kScripts) {
      if (shell_ == shell) return tell(script);
      known.emplace_back(shell);
    }
    return fail_field("shell", (shell_.empty() ? "no shell given" : "unknown shell " + quoted(shell_)) +
                                   suggestion(shell_, known));
  }

 private:
  std::string shell_, line_;
};

}  // namespace

std::unique_ptr<Command> completion_command() { return std::make_unique<Completion>(); }

}  // namespace foretrain
