// foretrain predict: a run, from its file and options to its prediction, or several side by side.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "commands.h"
#include "cost/profile_store.h"
#include "job/parse_run.h"
#include "option_words.h"
#include "predict/evaluator.h"
#include "report/chart.h"
#include "report/compare_report.h"
#include "report/path_report.h"
#include "report/predict_html.h"
#include "report/predict_report.h"
#include "report/trace_json.h"

namespace foretrain {
namespace {

// What predict answers when nobody says which run: one of the runs published with arXiv 2509.22832.
constexpr std::string_view kExample = R"(model: gpt-neox-20b
cluster: perlmutter
gpus: 128
seq: 2048
global_batch: 512
stack: neox
plan: {tp: 4, pp: 4, zero: 1, micro_batch: 4, recompute: full, precision: fp16, attention: unfused}
)";
constexpr std::string_view kExampleNote =
    "foretrain: no RUN.yaml and no --model: starting from the built-in example "
    "(gpt-neox-20b on perlmutter, 128 GPUs, pp=4 tp=4 dp=8, stack neox)";

// JSON tells the critical path unasked, unless that took longer than all the rest.
constexpr std::int64_t kMostEventsUnasked = 150'000;

Result<RunOptions> run_options(const PredictOptions& options) {
  RunOptions run;
  run.model = options.model;
  run.cluster = options.cluster;
  run.stack = options.stack;
  run.plan = options.plan;
  run.profile = options.profile;
  TRY_ASSIGN(run.gpus, count_option("--gpus", options.gpus));
  TRY_ASSIGN(run.seq, count_option("--seq", options.seq));
  TRY_ASSIGN(run.global_batch, count_option("--global-batch", options.global_batch));
  return run;
}

bool is_example(const PredictOptions& options) { return options.run_files.empty() && options.model.empty(); }

// Says which of the example's values the options replaced.
std::string example_note(const PredictOptions& options) {
  const std::pair<std::string_view, const std::string&> given[] = {
      {"--cluster", options.cluster}, {"--gpus", options.gpus},
      {"--seq", options.seq},         {"--stack", options.stack},
      {"--profile", options.profile}, {"--global-batch", options.global_batch},
      {"--plan", options.plan}};
  std::vector<std::string> overridden;
  for (const auto& [option, word] : given)
    if (!word.empty()) overridden.push_back(fmt::format("{} {}", option, printable(word)));
  std::string note(kExampleNote);
  if (!overridden.empty()) note += ", but for " + join(overridden, ", ");
  return note + "\n";
}

// Of one of the files; an empty name: none was given.
Result<Run> run_of(const PredictOptions& options, const std::string& file, const Catalog& catalog) {
  TRY_ASSIGN(const RunOptions given, run_options(options));
  if (is_example(options)) {
    TRY_ASSIGN(const Node example, parse_yaml(kExample, "(built-in example)"));
    return parse_run(&example, given, catalog);
  }
  if (file.empty()) return parse_run(nullptr, given, catalog);
  TRY_ASSIGN(const std::string text, read_file(file, kMaxYamlBytes));
  TRY_ASSIGN(const Node node, parse_yaml(text, file));
  return parse_run(&node, given, catalog);
}

// Everything that can be known to be wrong before the work begins.
Result<void> check_options(const PredictOptions& options) {
  const std::size_t runs = options.run_files.size();
  if (runs > kMostCompared)
    return fail(fmt::format("predict: found {} runs, expected at most {}", runs, kMostCompared));
  for (const auto& [option, path] : {std::pair{"--trace", &options.trace}, {"--html", &options.html}}) {
    if (path->empty()) continue;
    if (runs > 1) return fail(fmt::format("{}: found {} runs, expected one", option, runs));
    for (const std::string& run : options.run_files)
      if (same_file(*path, run))
        return fail(fmt::format("{}: found the run's own file, expected another", option));
    TRY(check_writable(*path));
  }
  if (same_file(options.trace, options.html))
    return fail("--html: found the file of --trace, expected another");
  if (!options.trace_stages.empty() && options.trace.empty())
    return fail("--trace-stages: found no --trace, expected the file that it is for");
  if (options.chart && options.json) return fail("--chart: is text, but --json asks for JSON");
  return {};
}

// The step's events, where a view of them was asked for and they are not too many.
Result<bool> wants_events(const PredictOptions& options, const Run& run) {
  const std::int64_t events = events_of(job_of(run));
  for (const auto& [option, asked] : {std::pair{"--trace", !options.trace.empty()},
                                      {"--html", !options.html.empty()},
                                      {"--chart", options.chart}})
    if (asked && events > kMostTracedEvents)
      return fail(fmt::format("{}: found up to {} passes and messages in a step, expected at most {}", option,
                              with_commas(events), with_commas(kMostTracedEvents)));
  const bool asked = options.chart || !options.trace.empty() || !options.html.empty();
  return asked || (options.json && events <= kMostEventsUnasked);
}

Result<PredictedRun> predicted(const PredictOptions& options, const std::string& file,
                               const std::string& presets_folder, std::optional<double> tokens) {
  PredictedRun out;
  out.name = file;
  TRY_ASSIGN(out.run, run_of(options, file, Catalog(presets_folder)));
  auto costs = ProfileStore(presets_folder).costs_for(out.run.cluster, out.run.profile);
  if (!costs) return fail((options.profile.empty() ? "profile: " : "--profile: ") + costs.error().message);
  out.run.profile = costs->profile;
  TRY_ASSIGN(const bool events, wants_events(options, out.run));
  StepTrace trace;
  out.prediction = predict(out.run, costs->costs, events ? &trace : nullptr);
  if (events) out.view.emplace(std::move(trace));
  if (tokens) out.whole = training(out.run, out.prediction, *tokens);
  return out;
}

// As wide as the terminal; 100 columns where there is none.
ChartStyle chart_style() {
  ChartStyle style;
  const char* columns = std::getenv("COLUMNS");
  const auto asked = columns == nullptr ? std::nullopt : parse_integer(columns);
  winsize size{};
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (asked && *asked >= 40 && *asked <= 10'000)
    style.width = static_cast<int>(*asked);
  else if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
    style.width = size.ws_col;
  if (!terminal) return style;
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = std::getenv(variable);
    if (locale == nullptr || *locale == '\0') continue;  // the first that says something decides
    const std::string_view text = locale;
    style.unicode = text.ends_with("UTF-8") || text.ends_with("utf8") || text.ends_with("utf-8");
    break;
  }
  return style;
}

Result<void> write_trace(const PredictOptions& options, const PredictedRun& one) {
  std::vector<std::int64_t> stages;
  if (!options.trace_stages.empty()) {
    const auto parsed = parse_stages(options.trace_stages, one.run.plan.pp);
    if (!parsed) return at_option("--trace-stages", parsed.error());
    stages = *parsed;
  }
  const TraceCut cut = cut_trace(one.view->trace, stages);
  TRY(write_file(options.trace, trace_json(one.run, *one.view, cut)));
  if (!cut.note.empty()) std::fprintf(stderr, "foretrain: --trace: %s\n", cut.note.c_str());
  return {};
}

std::string answer_text(const PredictOptions& options, const std::vector<PredictedRun>& runs) {
  const PredictedRun& one = runs.front();
  const Training* whole = one.whole ? &*one.whole : nullptr;
  if (options.json)
    return runs.size() > 1 ? predict_json(runs)
                           : predict_json(one.run, one.prediction, whole, one.view ? &*one.view : nullptr);
  std::string out = runs.size() > 1 ? compare_text(runs) : predict_text(one.run, one.prediction, whole);
  if (!options.chart) return out;
  const ChartStyle style = chart_style();
  Seconds longest;  // so that the charts compare
  for (const PredictedRun& r : runs) longest = std::max(longest, r.view->trace.step);
  for (const PredictedRun& r : runs) {
    if (runs.size() > 1) out += "\n" + printable(r.name) + "\n";
    out += chart_text(*r.view, style, longest) + path_text(*r.view, r.prediction);
  }
  return out;
}

Result<std::string> predict_report(const PredictOptions& options, const std::string& presets_folder) {
  TRY(check_options(options));
  std::optional<double> tokens;
  if (!options.tokens.empty()) {
    TRY_ASSIGN(tokens, amount_option("--tokens", options.tokens));
  }
  std::vector<std::string> files = options.run_files;
  if (files.empty()) files.emplace_back();
  std::vector<PredictedRun> runs;
  for (const std::string& file : files) {
    TRY_ASSIGN(PredictedRun one, predicted(options, file, presets_folder, tokens));
    runs.push_back(std::move(one));
  }
  if (!options.trace.empty()) TRY(write_trace(options, runs.front()));
  if (!options.html.empty()) {
    const PredictedRun& one = runs.front();
    TRY(write_file(options.html,
                   predict_html(one.run, one.prediction, *one.view, one.whole ? &*one.whole : nullptr)));
  }
  return answer_text(options, runs);
}

}  // namespace

int run_predict(const PredictOptions& options, const std::string& presets_folder) {
  const auto report = predict_report(options, presets_folder);
  if (!report) return refuse(report.error());
  if (is_example(options)) std::fputs(example_note(options).c_str(), stderr);
  return answer(*report);
}

}  // namespace foretrain
