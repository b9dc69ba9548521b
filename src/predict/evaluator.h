// Predicts plans of one model on one cluster with one stack. It owns the memos: segments by chunk shape,
// optimizer steps by size, layer splits by chunk count. One a thread.
//
// Memoised segments stand at the reference clock; where the costs know what power does, a governor
// (cost/governor.h) settles each rank's clock once a plan, over all that the rank does in a step, and the
// timeline sees their seconds at that clock.
//
// score() and predict() take the same path; score() keeps a small value and, once warm, allocates nothing.
// A search asks for less, in turns: weigh() says what a plan holds, before any of its passes is laid out;
// then at_least() bounds its step; then timed() gives it, exactly or by a bound within kClosedFormError.
#pragma once

#include <memory>
#include <optional>

#include "job/job.h"
#include "network/network.h"
#include "predict/chunk_memo.h"
#include "predict/evaluation.h"
#include "predict/floors.h"
#include "predict/layer_splits.h"
#include "predict/prediction.h"
#include "predict/trace.h"

namespace foretrain {

// What timed() may differ by from the simulated step, as a share of it.
inline constexpr double kClosedFormError = 0.01;

struct TimedStep {
  Seconds step;
  bool exact = false;  // simulated; otherwise a bound: the step is that, or up to kClosedFormError more
};

class Evaluator {
 public:
  // Operators cost what `costs` says; null: what physics says of the cluster's GPU.
  Evaluator(Model model, Cluster cluster, Stack stack, std::int64_t seq,
            std::shared_ptr<const CostSource> costs = nullptr);
  Evaluator(const Evaluator&) = delete;  // the network in use refers to its own cluster
  Evaluator& operator=(const Evaluator&) = delete;

  // The plan has been checked (job/run_check.h), so dp is set.
  Score score(const Plan& plan, std::int64_t global_batch);
  // The same prediction, whether or not `trace` is filled with what the step's events were.
  Prediction predict(const Plan& plan, std::int64_t global_batch, StepTrace* trace = nullptr);

  PlanFloor floor(const Plan& plan, std::int64_t global_batch);
  // What must fit on the worst stage (most_that_fits). What follows speaks of the plan that was weighed last,
  // which must be there still.
  Bytes weigh(const Plan& plan, std::int64_t global_batch);
  Seconds at_least();
  TimedStep timed(bool exactly = false);
  double joules();  // of a step, all GPUs together; after timed(), or of the bound after at_least()

 private:
  const Network& network_of(const Mesh& mesh);
  void add_missing_times();  // of the plan that was weighed
  void evaluate(const Plan& plan, std::int64_t global_batch);

  Setting setting_;
  ChunkMemo memo_;
  LayerSplits splits_;
  std::optional<Network> network_;
  Mesh network_mesh_;
  Evaluation current_;
};

// The whole way from a checked run; costs as above.
Prediction predict(const Run& run, std::shared_ptr<const CostSource> costs = nullptr,
                   StepTrace* trace = nullptr);
// The same by an evaluator of the run's model, cluster, stack and seq.
Prediction predict(const Run& run, Evaluator& evaluator, StepTrace* trace = nullptr);

}  // namespace foretrain
