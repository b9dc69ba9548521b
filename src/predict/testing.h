// What the tests of this folder share.
#pragma once

#include <string>

#include "base/check.h"
#include "predict/evaluator.h"

namespace foretrain {

// A checked run of embedded presets.
inline Run run_of(const std::string& model, const std::string& cluster, std::int64_t gpus,
                  const std::string& stack, const std::string& plan, std::int64_t global_batch) {
  RunOptions options;
  options.model = model;
  options.cluster = cluster;
  options.gpus = gpus;
  options.stack = stack;
  options.plan = plan;
  options.global_batch = global_batch;
  auto run = parse_run(nullptr, options, Catalog());
  CHECK_THAT(run.has_value());
  return *run;
}

inline Evaluator evaluator_of(const Run& run) { return {run.model, run.cluster, run.stack, run.seq}; }

inline Score score_of(const Run& run) { return evaluator_of(run).score(run.plan, run.global_batch); }

inline Seconds cause(const Prediction& prediction, StepCause which) {
  return prediction.breakdown[static_cast<std::size_t>(which)];
}

}  // namespace foretrain
