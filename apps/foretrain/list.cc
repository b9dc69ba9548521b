// foretrain list: the names that other commands take, each with a line on what stands behind it.
#include "ask/list.h"
#include "command.h"
#include "job_options.h"
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
    options.option("--csv", "F.csv", csv_, kCsvHelp, Takes::kFile);
    options.flag("--json", json_, "Answer in JSON");
  }
  std::string word(std::string_view field) const override {
    return field == "kind" ? "list" : Command::word(field);
  }
  Result<int> run(Session& session, Team*) override {
    TRY(check_rows_output(csv_, json_));
    TRY_ASSIGN(const ListReport report, ask(session, request_));
    TRY(write_rows(csv_, list_json(report), request_.kind));
    if (is_stdout(csv_)) return 0;
    return json_ ? tell(list_json(report)) : show_text(list_text(report));
  }

 private:
  ListRequest request_;
  std::string csv_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> list_command() { return std::make_unique<List>(); }

}  // namespace foretrain
