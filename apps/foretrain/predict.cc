// foretrain predict: a run, from its file and options to its prediction, or several side by side.
#include "ask/predict.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstdio>

#include "ask/over.h"
#include "base/field_mark.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "command.h"
#include "job_options.h"
#include "output.h"
#include "report/chart.h"
#include "report/compare_report.h"
#include "report/json_csv.h"
#include "report/over_report.h"
#include "report/path_report.h"
#include "report/predict_html.h"
#include "report/trace_json.h"
#include "run_source.h"

namespace foretrain {
namespace {

constexpr int kNotFitStatus = 3;  // with --fail-if-not-fit

constexpr std::string_view kExampleNote =
    "foretrain: no RUN.yaml and no --model: starting from the built-in example "
    "(gpt-neox-20b on perlmutter, 128 GPUs, pp=4 tp=4 dp=8, stack neox)";

class Predict final : public Command {
 public:
  const char* name() const override { return "predict"; }
  const char* what() const override {
    return "Step time, memory and throughput of one run, or of several side by side";
  }
  const char* example() const override {
    return "foretrain predict --model llama-3-8b --cluster dgx-h100 --gpus 64 --global-batch 512 "
           "--plan tp=2,pp=2,zero=1,recompute=selective";
  }
  void declare(Options& options) override {
    PredictRequest& r = request_;
    options.argument("FILE", run_files_,
                     "The run, or several to compare: a RUN.yaml, or what a framework is launched with "
                     "(foretrain convert); - "
                     "is stdin; without it and --model, a built-in example",
                     Takes::kFile);
    declare_job(options, r, "GPUs in all");
    options.option("--calibration", "FOLDER", r.calibration, kCalibrationHelp, Takes::kFolder);
    options.group("What is asked");
    options.option("--tokens", "T", r.tokens, kTokensHelp);
    options.option(
        "--over", "K=A..B", over_,
        "One or two keys of run, plan, cluster or GPU over a range: inter_gbps=100..3200,seq=4k..128k",
        Takes::kOver);
    options.group("What is told");
    options.flag("--brief", brief_, "Only a line a run: step, memory, whether it fits");
    options.flag("--fail-if-not-fit", fail_if_not_fit_,
                 "Exit status 3 where a plan does not fit, or may not");
    options.flag("--chart", r.chart,
                 "Also the step as a chart, its critical path, and what each stage does and waits for");
    options.option("--trace", "F.json", trace_,
                   "Also the step's events, for ui.perfetto.dev and chrome://tracing", Takes::kFile);
    options.option("--trace-stages", "S", trace_stages_, "Only these stages of the trace: 1-4,16");
    options.option("--html", "F.html", html_, "Also one page with all of it, to look at and to pass on",
                   Takes::kFile);
    options.option("--csv", "F.csv", csv_,
                   "Also a row a run, or a point of --over; - is stdout, of --html too", Takes::kFile);
    options.flag("--json", json_, "Answer in JSON");
  }
  std::string word(std::string_view field) const override {
    return field == "runs" ? "predict" : Command::word(field);
  }

  Result<int> run(Session& session, Team*) override {
    TRY(check_options());
    for (const std::string& file : run_files_) {
      TRY_ASSIGN(Source source, read_run_source(session, file));
      request_.runs.push_back(std::move(source));
    }
    if (!over_.empty()) return run_over(session);
    request_.trace = !trace_.empty();
    request_.html = !html_.empty();
    request_.path = json_;
    TRY_ASSIGN(const PredictAnswer answer, ask(session, request_));
    const PredictedRun& one = answer.runs.front();
    if (!trace_.empty()) TRY(write_trace(one));
    if (!html_.empty())
      TRY(write_output(html_,
                       predict_html(one.run, one.prediction, *one.view, one.whole ? &*one.whole : nullptr,
                                    one.standing ? &*one.standing : nullptr)));
    if (answer.example) std::fputs(example_note().c_str(), stderr);
    if (!csv_.empty()) TRY(write_output(csv_, csv_of(json_of_runs(answer.runs), "")));
    const int told = takes_stdout() ? 0
                     : json_        ? tell(json_of_runs(answer.runs))
                                    : show_text(text_of_runs(answer.runs));
    const bool fits = std::all_of(answer.runs.begin(), answer.runs.end(),
                                  [](const PredictedRun& r) { return r.prediction.fits; });
    return told == 0 && fail_if_not_fit_ && !fits ? kNotFitStatus : told;
  }

 private:
  // As wide as the terminal; 100 columns where there is none.
  ChartStyle chart_style() const {
    constexpr std::size_t kLeast = 40;
    ChartStyle style;
    const std::size_t columns = columns_of_stdout();
    if (columns != std::string::npos) style.width = static_cast<int>(std::max(columns, kLeast));
    style.unicode = terminal().unicode;
    return style;
  }

  // Everything that can be known to be wrong with the files before the work begins.
  Result<void> check_options() const {
    const std::size_t runs = run_files_.size();
    TRY(check_run_count(runs));
    for (const auto& [field, path] : {std::pair{"trace", &trace_}, {"html", &html_}, {"csv", &csv_}}) {
      if (path->empty()) continue;
      if (runs > 1 && path != &csv_)
        return fail_field(field, fmt::format("found {} runs, expected one", runs));
      for (const std::string& run : run_files_)
        if (!is_stdout(*path) && same_file(*path, run))
          return fail_field(field, "found the run's own file, expected another");
      TRY(check_output(*path));
    }
    if (takes_stdout() && json_)
      return fail_field(is_stdout(html_) ? "html" : "csv", "found stdout, where " + marked("json") + " goes");
    if (same_file(trace_, html_))
      return fail_field("html", "found the file of " + marked("trace") + ", expected another");
    if (same_file(csv_, html_))
      return fail_field("csv", "found the file of " + marked("html") + ", expected another");
    if (!over_.empty() && !trace_.empty())
      return fail_field("trace", "is of one step, but " + marked("over") + " asks for many");
    if (is_stdout(trace_)) return fail_field("trace", "found stdout, expected a file");
    for (const auto& [field, given] : {std::pair{"brief", brief_}, {"fail_if_not_fit", fail_if_not_fit_}})
      if (given && !over_.empty())
        return fail_field(field, "is of runs, but " + marked("over") + " asks for many points");
    if (brief_ && (json_ || request_.chart))
      return fail_field("brief", "is one line, but " + marked(json_ ? "json" : "chart") + " asks for more");
    if (!trace_stages_.empty() && trace_.empty())
      return fail_field("trace_stages", "found no " + marked("trace") + ", expected the file that it is for");
    if (request_.chart && json_)
      return fail_field("chart", "is text, but " + marked("json") + " asks for JSON");
    return {};
  }

  Result<int> run_over(Session& session) const {
    TRY_ASSIGN(OverAnswer answer, ask(session, OverRequest{request_, over_}));
    for (OverPoint& point : answer.points)
      point.refused = spelled(point.refused, [this](std::string_view field) { return word(field); });
    if (!html_.empty()) TRY(write_output(html_, over_html(answer)));
    if (!csv_.empty()) TRY(write_output(csv_, over_csv(answer)));
    if (answer.example) std::fputs(example_note().c_str(), stderr);
    if (takes_stdout()) return 0;
    if (json_) return tell(over_json(answer));
    std::string out = over_text(answer);
    if (request_.chart) out += "\n" + over_chart(answer, chart_style());
    return show_text(out);
  }

  Result<void> write_trace(const PredictedRun& one) const {
    std::vector<std::int64_t> stages;
    if (!trace_stages_.empty()) {
      TRY_ASSIGN(stages, of_field("trace_stages", parse_stages(trace_stages_, one.run.plan.pp)));
    }
    const TraceCut cut = cut_trace(one.view->trace, stages);
    TRY(write_file(trace_, trace_json(one.run, *one.view, cut)));
    if (!cut.note.empty()) std::fprintf(stderr, "foretrain: --trace: %s\n", cut.note.c_str());
    return {};
  }

  // Says which of the example's values the options replaced.
  std::string example_note() const {
    const PredictRequest& r = request_;
    const std::pair<std::string_view, const std::string&> given[] = {
        {"cluster", r.cluster}, {"gpus", r.gpus},       {"seq", r.seq},
        {"stack", r.stack},     {"profile", r.profile}, {"global_batch", r.global_batch},
        {"plan", r.plan}};
    std::vector<std::string> overridden;
    for (const auto& [field, said] : given)
      if (!said.empty()) overridden.push_back(fmt::format("{} {}", word(field), printable(said)));
    std::string note(kExampleNote);
    if (!overridden.empty()) note += ", but for " + join(overridden, ", ");
    return note + "\n";
  }

  // Whether a file that is asked for goes there, and so nothing else.
  bool takes_stdout() const { return is_stdout(html_) || is_stdout(csv_); }

  static std::string json_of_runs(const std::vector<PredictedRun>& runs) {
    const PredictedRun& one = runs.front();
    if (runs.size() > 1) return predict_json(runs);
    return predict_json(one.run, one.prediction, one.whole ? &*one.whole : nullptr,
                        one.view ? &*one.view : nullptr, one.standing ? &*one.standing : nullptr);
  }

  std::string text_of_runs(const std::vector<PredictedRun>& runs) const {
    const PredictedRun& one = runs.front();
    const Training* whole = one.whole ? &*one.whole : nullptr;
    if (brief_) {
      std::string lines;
      for (const PredictedRun& r : runs)
        lines += predict_brief(r.run, r.prediction, r.standing ? &*r.standing : nullptr);
      return lines;
    }
    const Standing* standing = one.standing ? &*one.standing : nullptr;
    std::string out =
        runs.size() > 1 ? compare_text(runs) : predict_text(one.run, one.prediction, whole, standing);
    if (!request_.chart) return out;
    const ChartStyle style = chart_style();
    Seconds longest;  // so that the charts compare
    for (const PredictedRun& r : runs) longest = std::max(longest, r.view->trace.step);
    for (const PredictedRun& r : runs) {
      if (runs.size() > 1) out += "\n" + printable(r.name) + "\n";
      out += chart_text(*r.view, style, longest) + path_text(*r.view, r.prediction);
    }
    return out;
  }

  PredictRequest request_;
  std::vector<std::string> run_files_;
  std::string over_, trace_, trace_stages_, html_, csv_;
  bool json_ = false, brief_ = false, fail_if_not_fit_ = false;
};

}  // namespace

std::unique_ptr<Command> predict_command() { return std::make_unique<Predict>(); }

}  // namespace foretrain
