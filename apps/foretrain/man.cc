// foretrain man: the manual page, in the words of help.
#include "command.h"
#include "man_page.h"
#include "output.h"

namespace foretrain {
namespace {

class Man final : public Command {
 public:
  const char* name() const override { return "man"; }
  const char* what() const override { return "The manual page, in troff"; }
  const char* example() const override {
    return "foretrain man | man -l -\n"
           "  foretrain man > ~/.local/share/man/man1/foretrain.1";
  }
  void declare(Options&) override {}
  Result<int> run(Session&, Team*) override { return tell(man_page()); }
};

}  // namespace

std::unique_ptr<Command> man_command() { return std::make_unique<Man>(); }

}  // namespace foretrain
