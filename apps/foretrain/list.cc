// foretrain list: the names that other commands take, each with a line on what stands behind it.
#include "ask/list.h"
#include "command.h"
#include "output.h"

namespace foretrain {
namespace {

class List final : public Command {
 public:
  const char* name() const override { return "list"; }
  const char* what() const override { return "Names that other commands take"; }
  const char* example() const override { return "foretrain list models"; }
  void declare(Options& options) override {
    options.argument("KIND", request_.kind, "models, gpus, clusters, stacks, recipes, schedules or profiles",
                     {"models", "gpus", "clusters", "stacks", "recipes", "schedules", "profiles"});
    options.flag("--json", json_, "Answer in JSON");
  }
  std::string word(std::string_view field) const override {
    return field == "kind" ? "list" : Command::word(field);
  }
  Result<int> run(Session& session, Team*) override {
    TRY_ASSIGN(const ListReport report, ask(session, request_));
    return json_ ? tell(list_json(report)) : show_text(list_text(report));
  }

 private:
  ListRequest request_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> list_command() { return std::make_unique<List>(); }

}  // namespace foretrain
