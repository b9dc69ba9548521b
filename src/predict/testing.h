// What the tests of this folder share.
#pragma once

#include <string>

#include "base/check.h"
#include "job/parse_run.h"
#include "job/run_check.h"
#include "predict/evaluator.h"
#include "spec/catalog.h"

namespace foretrain {

// A checked run of embedded presets; what its framework would not launch is timed all the same.
inline Run run_of(const std::string& model, const std::string& cluster, std::int64_t gpus,
                  const std::string& stack, const std::string& plan, std::int64_t global_batch) {
  RunOptions options;
  options.model = model;
  options.cluster = cluster;
  options.gpus = gpus;
  options.stack = stack;
  options.plan = plan;
  options.global_batch = global_batch;
  auto specs = parse_specs(nullptr, options, Catalog());
  CHECK_THAT(specs.has_value());
  specs->stack.rules.clear();
  auto run = parse_run(nullptr, options, *std::move(specs));
  CHECK_THAT(run.has_value());
  return *run;
}

inline Evaluator evaluator_of(const Run& run) {
  return {run.model, run.cluster, run.stack, run.seq, nullptr, run.documents};
}

inline Score score_of(const Run& run) { return evaluator_of(run).score(run.plan, run.global_batch); }

inline Seconds cause(const Prediction& prediction, StepCause which) {
  return prediction.breakdown[static_cast<std::size_t>(which)];
}

// Equal stages under 1f1b without messages: a forward of 1 s, a backward of 3 s of which 1 s recomputes.
inline StepTrace equal_stages(std::int64_t ranks, std::int64_t micro_batches) {
  ChunkLoad load;
  load.forward = Seconds(1);
  load.backward = Seconds(3);
  const std::vector<ChunkLoad> loads(static_cast<std::size_t>(ranks), load);
  PipelineWork work;
  work.chunks = loads;
  work.micro_batches = micro_batches;
  StepTrace trace;
  trace.pipeline = {ScheduleKind::k1f1b, ranks, 1};
  trace.micro_batches = micro_batches;
  Timeline timeline;
  trace.step = timeline.simulate(work, &trace.events);
  TracedChunk chunk;
  chunk.by_cause[0][static_cast<std::size_t>(Cause::kForward)] = Seconds(1);
  chunk.by_cause[1][static_cast<std::size_t>(Cause::kBackward)] = Seconds(2);
  chunk.by_cause[1][static_cast<std::size_t>(Cause::kRecompute)] = Seconds(1);
  trace.chunks.assign(loads.size(), chunk);
  return trace;
}

}  // namespace foretrain
