// foretrain validate: measured runs against what is predicted for them.
#include "ask/validate.h"

#include <cstdio>

#include "command.h"
#include "job_options.h"
#include "output.h"
#include "report/validate_report.h"

namespace foretrain {
namespace {

class Validate final : public Command {
 public:
  const char* name() const override { return "validate"; }
  const char* what() const override { return "Predictions against measured runs"; }
  const char* example() const override { return "foretrain validate runs.csv --by source"; }
  void declare(Options& options) override {
    options.argument("FILE.csv|FOLDER", inputs_, "Measured runs");
    options.option("--profile", "P", request_.profile, kProfileHelp);
    options.option("--against", "A", request_.against,
                   "Which measured step to compare with: fastest or median");
    options.option("--by", "KEY", request_.by,
                   "Group by source, gpu, stack, cluster, or group: rows of nearly one configuration");
    options.flag("--rows", rows_, "Each row as well");
    options.flag("--json", json_, "Answer in JSON");
  }
  std::string word(std::string_view field) const override {
    return field == "tables" ? "validate" : Command::word(field);
  }
  Result<int> run(Session& session, Team*) override {
    for (const std::string& input : inputs_) {
      TRY_ASSIGN(Sources tables, measured_sources(session.files(), input));
      request_.tables.push_back(std::move(tables));
    }
    TRY_ASSIGN(const ValidateAnswer answer, ask(session, std::move(request_)));
    for (const std::string& note : answer.notes) std::fprintf(stderr, "foretrain: %s\n", note.c_str());
    const ValidateReport report{answer.by, rows_};
    return tell(json_ ? validate_json(answer.rows, report) : validate_text(answer.rows, report));
  }

 private:
  ValidateRequest request_;
  std::vector<std::string> inputs_;
  bool rows_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> validate_command() { return std::make_unique<Validate>(); }

}  // namespace foretrain
