// foretrain predict: one run, from its file and options to its prediction.
#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "commands.h"
#include "cost/profile_store.h"
#include "predict/evaluator.h"
#include "report/predict_report.h"
#include "spec/run.h"

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

// Empty: not given, 0. The upper limits are the run's to check, for a file states the same figures.
Result<std::int64_t> count_option(std::string_view option, const std::string& word) {
  if (word.empty()) return 0;
  const std::optional<std::int64_t> count = parse_integer(word);
  if (!count || *count < 1)
    return fail(fmt::format("{}: found {}, expected a whole number of at least 1", option, quoted(word)));
  return *count;
}

// "300e9", "300B", "1.5T", "10M".
Result<double> parse_tokens(std::string_view word) {
  constexpr double kMostTokens = 1e18;
  std::string_view digits = word;
  double scale = 1;
  if (!digits.empty()) {
    const char last = digits.back();
    scale = last == 'T' || last == 't'   ? 1e12
            : last == 'B' || last == 'b' ? 1e9
            : last == 'M' || last == 'm' ? 1e6
            : last == 'k' || last == 'K' ? 1e3
                                         : 1;
    if (scale != 1) digits.remove_suffix(1);
  }
  const std::optional<double> number = parse_number(digits);
  if (!number || !(*number * scale >= 1) || *number * scale > kMostTokens)
    return fail(fmt::format("--tokens: found {}, expected a count from 1 to 1e18 such as 300e9, 300B or 1.5T",
                            quoted(word)));
  return *number * scale;
}

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

bool is_example(const PredictOptions& options) { return options.run_file.empty() && options.model.empty(); }

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

Result<Run> run_of(const PredictOptions& options, const Catalog& catalog) {
  TRY_ASSIGN(const RunOptions given, run_options(options));
  if (is_example(options)) {
    TRY_ASSIGN(const Node example, parse_yaml(kExample, "(built-in example)"));
    return parse_run(&example, given, catalog);
  }
  if (options.run_file.empty()) return parse_run(nullptr, given, catalog);
  TRY_ASSIGN(const std::string text, read_file(options.run_file, kMaxYamlBytes));
  TRY_ASSIGN(const Node node, parse_yaml(text, options.run_file));
  return parse_run(&node, given, catalog);
}

Result<std::string> predict_report(const PredictOptions& options, const std::string& presets_folder) {
  std::optional<double> tokens;
  if (!options.tokens.empty()) {
    TRY_ASSIGN(tokens, parse_tokens(options.tokens));
  }
  TRY_ASSIGN(Run run, run_of(options, Catalog(presets_folder)));
  auto costs = ProfileStore(presets_folder).costs_for(run.cluster, run.profile);
  if (!costs) return fail((options.profile.empty() ? "profile: " : "--profile: ") + costs.error().message);
  run.profile = costs->profile;
  const Prediction prediction = predict(run, costs->costs);
  std::optional<Training> whole;
  if (tokens) whole = training(run, prediction, *tokens);
  const Training* told = whole ? &*whole : nullptr;
  return options.json ? predict_json(run, prediction, told) : predict_text(run, prediction, told);
}

}  // namespace

int run_predict(const PredictOptions& options, const std::string& presets_folder) {
  const auto report = predict_report(options, presets_folder);
  if (!report) return refuse(report.error());
  if (is_example(options)) std::fputs(example_note(options).c_str(), stderr);
  return answer(*report);
}

}  // namespace foretrain
