// foretrain calibrate: a cluster's own measurements become a calibration, which predictions there then stand on.
#include "ask/calibrate.h"

#include <fmt/format.h>

#include "base/field_mark.h"
#include "base/file.h"
#include "base/text.h"
#include "calibrate/calibration_text.h"
#include "command.h"
#include "job_options.h"
#include "output.h"
#include "run_source.h"

namespace foretrain {
namespace {

class Calibrate final : public Command {
 public:
  const char* name() const override { return "calibrate"; }
  const char* what() const override {
    return "Your own measurements teach the predictor your cluster: logs, traces, tables, or seconds of a "
           "step";
  }
  const char* example() const override {
    return "foretrain calibrate train.log --cluster dgx-h100 -o mine\n"
           "  foretrain calibrate --run run.yaml --measured 36.2 -o mine\n"
           "  foretrain predict other.yaml --calibration mine";
  }
  void declare(Options& options) override {
    options.argument(
        "MEASUREMENTS", inputs_,
        "Training logs, traces of PyTorch's profiler, tables of measured runs or folders of them",
        Takes::kFile);
    options.option("-o,--out", "FOLDER", out_,
                   "The folder to write the calibration into; without it, it is only told", Takes::kFolder);
    options.option("--run", "FILE", run_file_,
                   "What was run, as predict takes it, where a log does not state it", Takes::kFile);
    options.option("--measured", "SECONDS", request_.measured, "A step of that run, measured");
    declare_job(options, request_.run, "GPUs in all");
    options.group("What is learned, and told");
    options.option("--name", "N", request_.name, "The name of the calibration; without it, the folder's");
    options.repeated("--next", "RUN", next_,
                     "Given twice, two runs: what to measure next to tell which is faster", Takes::kFile);
    options.option("--calibration", "FOLDER", request_.calibration,
                   "For --next without measurements: one that was made before", Takes::kFolder);
    options.flag("--force", force_, "Also where that folder holds a calibration");
    options.option("--csv", "F.csv", csv_,
                   "Also its measurements as CSV, in columns named as the keys of --json; - is stdout",
                   Takes::kFile);
    options.flag("--json", json_, "Answer in JSON (docs/calibrate.md)");
  }
  std::string word(std::string_view field) const override {
    if (field == "out") return "-o";
    return field == "measurements" || field == "runs" ? "calibrate" : Command::word(field);
  }

  Result<int> run(Session& session, Team*) override {
    out_ = without_slashes(out_);
    if (!out_.empty()) TRY(check_folder());
    TRY(check_rows_output(csv_, json_));
    if (!out_.empty() && inputs_.empty() && request_.measured.empty() && !next_.empty())
      return fail_field("out", "found nothing to write: " + marked("next") + " alone measures nothing");
    for (const std::string& input : inputs_) {
      TRY_ASSIGN(Sources sources, measured_files(session.files(), input));
      request_.measurements.push_back(std::move(sources));
    }
    if (!run_file_.empty()) {
      TRY_ASSIGN(Source source, read_run_source(session, run_file_));
      request_.run.runs.push_back(std::move(source));
    }
    for (const std::string& file : next_) {
      TRY_ASSIGN(Source source, read_run_source(session, file));
      request_.next.push_back(std::move(source));
    }
    if (request_.name.empty() && !out_.empty()) request_.name = file_name(out_);
    TRY_ASSIGN(CalibrateAnswer answer, ask(session, std::move(request_)));
    if (!out_.empty() && !answer.files.empty()) {
      TRY(check_folder());
      TRY(replace_folder(out_, answer.files, {kCalibrationFile}));
      answer.report.written = out_;
    }
    TRY(write_rows(csv_, calibration_json(answer.report), "measurements"));
    if (is_stdout(csv_)) return 0;
    return json_ ? tell(calibration_json(answer.report)) : show_text(calibration_text(answer.report));
  }

 private:
  // A folder that is not there yet or, with `force`, one that holds a calibration.
  Result<void> check_folder() const {
    TRY(check_replaceable(out_, force_, "the calibration in it"));
    if (exists(out_)) {
      if (is_file(out_ + "/" + kCalibrationFile)) return {};
      return fail_field("out", fmt::format("{} holds no {}; {} replaces calibrations only",
                                           foretrain::quoted(out_), kCalibrationFile, marked("force")));
    }
    const std::string parent = folder_of(out_);
    if (parent.empty() || is_folder(parent)) return {};
    return fail_field("out", "found no folder " + foretrain::quoted(parent) + " to write into");
  }

  CalibrateRequest request_;
  std::vector<std::string> inputs_, next_;
  std::string out_, run_file_;
  std::string csv_;
  bool force_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> calibrate_command() { return std::make_unique<Calibrate>(); }

}  // namespace foretrain
