#include "ask/predict.h"

#include <fmt/format.h>

#include <optional>

#include "ask/calibrate.h"
#include "ask/guard.h"
#include "ask/run_file.h"
#include "ask/words.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "base/yaml.h"
#include "job/parse_run.h"
#include "report/compare_report.h"
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

// The critical path is told unasked, unless that took longer than all the rest.
constexpr std::int64_t kMostEventsUnasked = 150'000;

// Of one of the texts; null: none was given.
Result<Run> run_of(const PredictRequest& request, const Source* source, const Catalog& catalog) {
  if (source != nullptr) {
    TRY_ASSIGN(RunFile file, read_run_file(*source, catalog));
    return run_of(request, std::move(file), catalog);
  }
  TRY_ASSIGN(const RunOptions given, run_options(request));
  return parse_run(nullptr, given, catalog);
}

Result<std::optional<double>> tokens_of(const PredictRequest& request) {
  if (request.tokens.empty()) return std::optional<double>();
  TRY_ASSIGN(const double tokens, amount_word("tokens", request.tokens));
  return std::optional(tokens);
}

// The step's events, where a view of them was asked for and they are not too many.
Result<bool> wants_events(const PredictRequest& request, const Run& run) {
  const std::int64_t events = events_of(job_of(run));
  for (const auto& [field, asked] :
       {std::pair{"trace", request.trace}, {"html", request.html}, {"chart", request.chart}})
    if (asked && events > kMostTracedEvents)
      return fail_field(field,
                        fmt::format("found up to {} passes and messages in a step, expected at most {}",
                                    with_commas(events), with_commas(kMostTracedEvents)));
  return request.trace || request.html || request.chart || (request.path && events <= kMostEventsUnasked);
}

Result<PredictedRun> predicted(Session& session, const PredictRequest& request, const Source* source,
                               const std::optional<Calibration>& calibration) {
  TRY_ASSIGN(Run run, run_of(request, source, session.catalog()));
  TRY_ASSIGN(const ProfileStore::Choice choice, costs_of(session, request, run));
  run.profile = choice.profile;
  if (calibration) TRY(of_field("calibration", check_applies(*calibration, run.cluster, choice.profile)));
  std::optional<Standing> standing;
  TRY_ASSIGN(PredictedRun out,
             predicted_run(request, std::move(run), [&](const Run& checked, StepTrace* trace) {
               if (!calibration) return session.predict(checked, choice.costs, trace);
               const CalibratedRun there = calibrated(*calibration, checked, choice.costs);
               Prediction prediction = session.predict(there.run, there.costs, trace);
               standing = stand(*calibration, checked, choice.costs, prediction);
               return prediction;
             }));
  out.standing = std::move(standing);
  if (source != nullptr && !request.is_example()) out.name = source->name;
  return out;
}

Result<PredictAnswer> predicted_all(Session& session, const PredictRequest& request) {
  TRY(check_run_count(request.runs.size()));
  TRY(tokens_of(request));  // before the work
  TRY_ASSIGN(const std::optional<Calibration> calibration,
             of_field("calibration", calibration_of(session, request.calibration)));
  const std::optional<Source> first = run_source(request);
  std::vector<const Source*> sources;
  for (const Source& source : request.runs) sources.push_back(&source);
  if (sources.empty()) sources.push_back(first ? &*first : nullptr);
  PredictAnswer answer;
  answer.example = request.is_example();
  for (const Source* source : sources) {
    TRY_ASSIGN(PredictedRun one, predicted(session, request, source, calibration));
    answer.runs.push_back(std::move(one));
  }
  return answer;
}

}  // namespace

Result<void> check_run_count(std::size_t runs) {
  if (runs <= kMostCompared) return {};
  return fail_field("runs", fmt::format("found {} runs, expected at most {}", runs, kMostCompared));
}

Result<RunOptions> run_options(const PredictRequest& request) {
  RunOptions run;
  run.model = request.model;
  run.cluster = request.cluster;
  run.stack = request.stack;
  run.plan = request.plan;
  run.profile = request.profile;
  run.documents = request.documents;
  run.task = request.task;
  TRY_ASSIGN(run.gpus, count_word("gpus", request.gpus));
  TRY_ASSIGN(run.seq, tokens_word("seq", request.seq));
  if (const auto tokens = batch_tokens(request.global_batch)) {
    run.global_batch_tokens = *tokens;
  } else {
    TRY_ASSIGN(run.global_batch, count_word("global_batch", request.global_batch));
  }
  return run;
}

std::optional<Source> run_source(const PredictRequest& request) {
  if (!request.runs.empty()) return request.runs.front();
  if (!request.is_example()) return std::nullopt;
  return Source{"(built-in example)", std::string(kExample)};
}

static Result<Run> read_file_run(const PredictRequest& request, RunFile file, const Catalog& catalog,
                                 Result<Run> (*read)(const Node*, const RunOptions&, const Catalog&)) {
  TRY_ASSIGN(const RunOptions given, run_options(request));
  if (given.global_batch == 0 && given.global_batch_tokens == 0) file.complete(given.gpus);
  TRY_ASSIGN(Run run, read(&file.node, given, catalog));
  const std::vector<std::string> more = file.assumed();
  run.assumed.insert(run.assumed.end(), more.begin(), more.end());
  return run;
}

Result<Run> run_of(const PredictRequest& request, RunFile file, const Catalog& catalog) {
  return read_file_run(request, std::move(file), catalog, parse_run);
}

Result<Run> unchecked_run_of(const PredictRequest& request, const Catalog& catalog) {
  if (const auto source = run_source(request)) {
    TRY_ASSIGN(RunFile file, read_run_file(*source, catalog));
    return read_file_run(request, std::move(file), catalog, read_run);
  }
  TRY_ASSIGN(const RunOptions given, run_options(request));
  return read_run(nullptr, given, catalog);
}

Result<ProfileStore::Choice> costs_of(Session& session, const PredictRequest& request, const Run& run) {
  auto costs = session.costs_for(run.cluster, run.profile);
  if (!request.profile.empty()) return of_field("profile", std::move(costs));
  if (!costs && costs.error().at.file.empty()) costs.error().message.insert(0, "profile: ");
  return costs;
}

Result<PredictedRun> predicted_run(const PredictRequest& request, Run run, const Predictor& predict) {
  PredictedRun out;
  out.run = std::move(run);
  TRY_ASSIGN(const std::optional<double> tokens, tokens_of(request));
  TRY_ASSIGN(const bool events, wants_events(request, out.run));
  StepTrace trace;
  out.prediction = predict(out.run, events ? &trace : nullptr);
  if (events) out.view.emplace(std::move(trace));
  if (tokens) out.whole = training(out.run, out.prediction, *tokens);
  return out;
}

Result<PredictAnswer> ask(Session& session, const PredictRequest& request) {
  return guarded([&] { return predicted_all(session, request); });
}

}  // namespace foretrain
