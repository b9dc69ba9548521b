// foretrain diagnose: a run's log or trace, held against its prediction.
#include "ask/diagnose.h"

#include <algorithm>

#include "command.h"
#include "job_options.h"
#include "output.h"
#include "run_source.h"

namespace foretrain {
namespace {

class Diagnose final : public Command {
 public:
  const char* name() const override { return "diagnose"; }
  const char* what() const override {
    return "Is a run as fast as it should be: its log or trace beside its prediction, causes, what to try";
  }
  const char* example() const override {
    return "foretrain diagnose train.log --cluster dgx-h100\n"
           "  foretrain diagnose trace.json.gz --run launch.sh --cluster dgx-h100";
  }
  void declare(Options& options) override {
    options.argument("LOG|TRACE", files_,
                     "What the training printed, or a trace of PyTorch's profiler, packed or not; - is "
                     "stdin. Logs of several ranks of "
                     "one run are read as one",
                     Takes::kFile);
    options.option(
        "--run", "FILE", run_file_,
        "What was run, as predict takes it; without it, what the log states of itself (the arguments that "
        "Megatron prints)",
        Takes::kFile);
    declare_job(options, request_.run, "GPUs in all");
    options.group("What is told");
    options.option("--time", "T", request_.time,
                   "How long to look for a better plan: 3s without it; 0s: only single changes");
    options.option("--csv", "F.csv", csv_,
                   "Also what to try as CSV, in columns named as the keys of --json; - is stdout",
                   Takes::kFile);
    options.flag("--json", json_, "Answer in JSON (docs/diagnose.md)");
  }
  std::string word(std::string_view field) const override {
    return field == "file" || field == "runs" ? "diagnose" : Command::word(field);
  }

  Result<int> run(Session& session, Team*) override {
    if (files_.empty()) return fail_field("file", "no log and no trace given; - is stdin");
    TRY(check_rows_output(csv_, json_));
    if (std::count(files_.begin(), files_.end(), "-") + (run_file_ == "-" ? 1 : 0) > 1)
      return fail_field("run", "found - twice, expected one of log and run on stdin");
    TRY_ASSIGN(request_.measured, read_source(session, files_.front(), kMaxTraceBytes));
    for (std::size_t i = 1; i < files_.size(); ++i) {
      TRY_ASSIGN(Source rank, read_source(session, files_[i], kMaxTrainingLogBytes));
      request_.ranks.push_back(std::move(rank));
    }
    if (!run_file_.empty()) {
      TRY_ASSIGN(Source source, read_run_source(session, run_file_));
      request_.run.runs.push_back(std::move(source));
    }
    TRY_ASSIGN(const DiagnosedRun answer, ask(session, request_));
    TRY(write_rows(csv_, diagnose_json(answer), "try"));
    if (is_stdout(csv_)) return 0;
    return json_ ? tell(diagnose_json(answer)) : show_text(diagnose_text(answer));
  }

 private:
  DiagnoseRequest request_;
  std::vector<std::string> files_;
  std::string run_file_, csv_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> diagnose_command() { return std::make_unique<Diagnose>(); }

}  // namespace foretrain
