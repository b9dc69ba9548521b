// One run, or several to compare, from their texts and words to their predictions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/run_file.h"
#include "ask/session.h"
#include "base/files.h"
#include "job/parse_run.h"
#include "report/predict_report.h"

namespace foretrain {

// Words as they were given; empty: not given. They add to or override what the runs say.
struct PredictRequest {
  std::vector<Source> runs;  // YAML; without any and without `model`, a built-in example
  std::string model, cluster, gpus, plan, global_batch, seq, documents, stack, profile, task;
  std::string calibration;  // a folder of calibrate's, that predictions stand on
  std::string tokens;       // also what training on this many costs
  // Views of a step's events that will be drawn; and whether its critical path shall be told even so, unless
  // that took longer than all the rest.
  bool trace = false, html = false, chart = false;
  bool path = false;

  bool is_example() const { return runs.empty() && model.empty(); }
};

struct PredictAnswer {
  std::vector<PredictedRun> runs;  // in the order of the request
  bool example = false;            // of the built-in one
};

// How many runs can be compared; for who wants to know before it reads them.
Result<void> check_run_count(std::size_t runs);

Result<PredictAnswer> ask(Session& session, const PredictRequest& request);

// For who asks about a run in other ways: its words, read; and its text, the example's where nothing says which run,
// none where words alone do.
Result<RunOptions> run_options(const PredictRequest& request);
std::optional<Source> run_source(const PredictRequest& request);
// The run that a file and the request's words state together; and its costs, by the request's word or the run's own.
Result<Run> run_of(const PredictRequest& request, RunFile file, const Catalog& catalog);
Result<ProfileStore::Choice> costs_of(Session& session, const PredictRequest& request, const Run& run);

// The same of the request as a whole, but for the check (job/parse_run.h).
Result<Run> unchecked_run_of(const PredictRequest& request, const Catalog& catalog);

// A checked run with the views and the training that the request asks for, by whoever predicts; `trace` is null where
// no view needs the step's events.
using Predictor = std::function<Prediction(const Run& run, StepTrace* trace)>;
Result<PredictedRun> predicted_run(const PredictRequest& request, Run run, const Predictor& predict);

}  // namespace foretrain
