// foretrain accuracy: what predictions of published runs like a run were off by.
#include "ask/accuracy.h"

#include "base/field_mark.h"
#include "command.h"
#include "job_options.h"
#include "output.h"
#include "run_source.h"

namespace foretrain {
namespace {

class Accuracy final : public Command {
 public:
  const char* name() const override { return "accuracy"; }
  const char* what() const override {
    return "How far to trust a prediction: what those of published runs like it were off by";
  }
  const char* example() const override {
    return "foretrain accuracy --model llama-3-8b --cluster dgx-h100 --gpus 64 --stack megatron --all";
  }
  void declare(Options& options) override {
    options.argument("RUN", files_, "The run, as predict takes it", Takes::kFile);
    declare_job(options, request_.run, "GPUs in all");
    options.group("What is told");
    options.flag("--all", all_, "Also by source, GPU, stack and feature");
    options.option("--csv", "F.csv", csv_, kCsvHelp, Takes::kFile);
    options.flag("--json", json_, "Answer in JSON, with all of them");
  }
  std::string word(std::string_view field) const override {
    return field == "runs" ? "accuracy" : Command::word(field);
  }

  Result<int> run(Session& session, Team*) override {
    TRY(check_rows_output(csv_, json_));
    for (const std::string& file : files_) {
      TRY_ASSIGN(Source source, read_run_source(session, file));
      request_.run.runs.push_back(std::move(source));
    }
    TRY_ASSIGN(const AccuracyReport report, ask(session, request_));
    TRY(write_rows(csv_, accuracy_json(report), "like"));
    if (is_stdout(csv_)) return 0;
    return json_ ? tell(accuracy_json(report)) : show_text(accuracy_text(report, all_));
  }

 private:
  AccuracyRequest request_;
  std::vector<std::string> files_;
  std::string csv_;
  bool all_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> accuracy_command() { return std::make_unique<Accuracy>(); }

}  // namespace foretrain
