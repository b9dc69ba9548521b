// foretrain show: what stands behind a name.
#include "ask/show.h"
#include "command.h"
#include "output.h"

namespace foretrain {
namespace {

class Show final : public Command {
 public:
  const char* name() const override { return "show"; }
  const char* what() const override {
    return "A preset's YAML, with the origin of each figure; a config.json as it is understood; a profile's "
           "models";
  }
  const char* example() const override { return "foretrain show cluster perlmutter"; }
  void declare(Options& options) override {
    options.argument("KIND", request_.kind, "model, gpu, cluster, stack, recipe or profile",
                     {"model", "gpu", "cluster", "stack", "recipe", "profile"});
    options.argument("NAME", request_.name,
                     "A name (foretrain list ...), a YAML file, a profile's folder; a model also a "
                     "config.json or its folder",
                     Takes::kName);
    options.option("--csv", "F.csv", csv_, "profile: also its models as CSV; - is stdout", Takes::kFile);
    options.flag("--json", request_.json, "Answer in JSON");
  }
  std::string word(std::string_view field) const override {
    if (field == "name") return "show " + request_.kind;
    return field == "kind" ? "show" : Command::word(field);
  }
  Result<int> run(Session& session, Team*) override {
    if (!csv_.empty()) TRY(write_models(session));
    if (is_stdout(csv_)) return 0;
    TRY_ASSIGN(const std::string text, ask(session, request_));
    return request_.kind == "profile" && !request_.json ? show_text(text) : tell(text);
  }

 private:
  Result<void> write_models(Session& session) const {
    if (request_.kind != "profile")
      return fail_field("csv", "found with " + request_.kind + ", expected with profile");
    TRY(check_rows_output(csv_, request_.json));
    ShowRequest request = request_;
    request.json = true;
    TRY_ASSIGN(const std::string json, ask(session, request));
    return write_rows(csv_, json, "models");
  }

  ShowRequest request_;
  std::string csv_;
};

}  // namespace

std::unique_ptr<Command> show_command() { return std::make_unique<Show>(); }

}  // namespace foretrain
