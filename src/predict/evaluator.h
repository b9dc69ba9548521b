// Predicts plans of one model on one cluster with one stack. It owns the memos: segments by chunk shape,
// optimizer steps by size, layer splits by chunk count. One a thread.
//
// Memoised segments stand at the reference clock; where the costs know what power does, a governor
// (cost/governor.h) settles each rank's clock once a plan, over all that the rank does in a step, and the
// timeline sees their seconds at that clock.
//
// score() and predict() take the same path; score() keeps a small value and, once warm, allocates nothing.
// A search asks for less, in turns: a Weighed plan says what it holds, before any of its passes is laid out;
// it can bound its step, or time it, exactly or by a bound within kClosedFormError; and what was bounded or
// timed says what energy that takes.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "job/job.h"
#include "network/network.h"
#include "predict/chunk_memo.h"
#include "predict/evaluation.h"
#include "predict/floors.h"
#include "predict/layer_splits.h"
#include "predict/prediction.h"
#include "predict/step_trace.h"

namespace foretrain {

// What Weighed::timed() may differ by from the simulated step, as a share of it.
inline constexpr double kClosedFormError = 0.01;

class Evaluator;
class SplitFloor;
class StepBound;
class TimedStep;

// A plan that an evaluator has weighed. The evaluator has room for one: the next plan that it is asked about
// ends this one, and to ask it again trips a CHECK. The plan itself must be there still.
class Weighed {
 public:
  Bytes needed() const;  // what must fit on the worst stage (most_that_fits)
  Bytes host() const;    // and in a node's own memory
  StepBound at_least();
  TimedStep timed(bool exactly = false);

 private:
  friend class Evaluator;
  friend class StepBound;
  friend class TimedStep;
  Weighed(Evaluator& evaluator, std::uint64_t turn) : evaluator_(&evaluator), turn_(turn) {}
  Evaluator& evaluator() const;
  double joules(Seconds step) const;

  Evaluator* evaluator_;
  std::uint64_t turn_;
};

// No step of the plan is shorter, and none takes less energy.
class StepBound {
 public:
  Seconds seconds() const { return seconds_; }
  double joules() const { return plan_.joules(seconds_); }  // all GPUs together

 private:
  friend class Weighed;
  StepBound(Weighed plan, Seconds seconds) : plan_(plan), seconds_(seconds) {}

  Weighed plan_;
  Seconds seconds_;
};

class TimedStep {
 public:
  Seconds seconds() const { return seconds_; }
  // Simulated; otherwise a bound: the step is that, or up to kClosedFormError more.
  bool exact() const { return exact_; }
  double joules() const { return plan_.joules(seconds_); }  // all GPUs together

 private:
  friend class Weighed;
  TimedStep(Weighed plan, Seconds seconds, bool exact) : plan_(plan), seconds_(seconds), exact_(exact) {}

  Weighed plan_;
  Seconds seconds_;
  bool exact_;
};

// What plans that differ in their splits and in what overlaps take at least; and those of them with one split. The
// evaluator has room for one such part: the next that it is asked about ends this one, and to ask it again trips a CHECK.
class PartFloor {
 public:
  const PlanFloor& floor() const { return floor_; }
  // Of those of them with this layers_per_stage. REQUIRES: it is there as long as the answer
  SplitFloor split(std::span<const std::int64_t> layers_per_stage) const;

 private:
  friend class Evaluator;
  friend class SplitFloor;
  PartFloor(Evaluator& evaluator, std::uint64_t turn, const PlanFloor& floor)
      : evaluator_(&evaluator), turn_(turn), floor_(floor) {}
  Evaluator& evaluator() const;

  Evaluator* evaluator_;
  std::uint64_t turn_;
  PlanFloor floor_;
};

class SplitFloor {
 public:
  Seconds step() const;
  // Of the rank that holds the most, or of the first that holds more than so much.
  Bytes peak(Bytes limit) const;

 private:
  friend class PartFloor;
  SplitFloor(const PartFloor& part, const LayerSplit& split) : part_(part), split_(split) {}

  PartFloor part_;
  LayerSplit split_;
};

class Evaluator {
 public:
  // Operators cost what `costs` says; null: what physics says of the cluster's GPU.
  Evaluator(Model model, Cluster cluster, Stack stack, std::int64_t seq,
            std::shared_ptr<const CostSource> costs = nullptr, const Documents& documents = {});
  Evaluator(const Evaluator&) = delete;  // the network in use refers to its own cluster
  Evaluator& operator=(const Evaluator&) = delete;

  // The plan has been checked (job/run_check.h), so dp is set.
  Score score(const Plan& plan, std::int64_t global_batch);
  // The figures of predict(), for little more than score() takes.
  PlanEstimate estimate(const Plan& plan, std::int64_t global_batch);
  // The same prediction, whether or not `trace` is filled with what the step's events were.
  Prediction predict(const Plan& plan, std::int64_t global_batch, StepTrace* trace = nullptr);

  // Of all plans like this one, their splits and what overlaps left open.
  PartFloor part(const Plan& plan, std::int64_t global_batch, const FloorScope& scope = {});
  PlanFloor floor(const Plan& plan, std::int64_t global_batch, const FloorScope& scope = {}) {
    return part(plan, global_batch, scope).floor();
  }
  Weighed weigh(const Plan& plan, std::int64_t global_batch);

 private:
  friend class PartFloor;
  friend class SplitFloor;
  friend class Weighed;
  const Network& network_of(const Mesh& mesh);
  // Whether it differs from the plan that was weighed before in what overlaps alone.
  bool holds_the_same(const Job& job) const;
  Timed& timed();  // the plan that was weighed
  const Simulated& simulated(const Plan& plan, std::int64_t global_batch);

  Setting setting_;
  ChunkMemo memo_;
  LayerSplits splits_;
  Floors floors_;
  std::optional<Network> network_;
  Mesh network_mesh_;
  Simulated current_;                 // as far as it has come
  bool has_bytes_ = false;            // of the plan that was weighed
  std::vector<std::int64_t> layers_;  // and its own layers per stage
  bool has_times_ = false;
  std::uint64_t turn_ = 0;       // of plans that were asked about
  std::uint64_t part_turn_ = 0;  // of parts
  Job part_;                     // the last of them
};

// The whole way from a checked run, with an evaluator of its model, cluster, stack, seq and documents, or with costs as
// above.
Prediction predict(const Run& run, Evaluator& evaluator, StepTrace* trace = nullptr);
Prediction predict(const Run& run, std::shared_ptr<const CostSource> costs = nullptr,
                   StepTrace* trace = nullptr);

}  // namespace foretrain
