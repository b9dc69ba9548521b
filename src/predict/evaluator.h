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
#include <unordered_map>
#include <vector>

#include "cost/memo.h"
#include "memory/counters.h"
#include "memory/memory.h"
#include "predict/prediction.h"
#include "predict/trace.h"
#include "segment/segment.h"
#include "spec/run.h"
#include "timeline/timeline.h"

namespace foretrain {

// What timed() may differ by from the simulated step, as a share of it.
inline constexpr double kClosedFormError = 0.01;

struct TimedStep {
  Seconds step;
  bool exact = false;  // simulated; otherwise a bound: the step is that, or up to kClosedFormError more
};

// What a plan takes at least, however its layers are split and whatever overlaps.
struct PlanFloor {
  Seconds step;  // its operators alone, all stages equally busy
  Bytes peak;    // its states, or its layers' and what their forwards keep, dealt over stages to the best
};

class Evaluator {
 public:
  // Operators cost what `costs` says; null: what physics says of the cluster's GPU.
  Evaluator(Model model, Cluster cluster, Stack stack, std::int64_t seq,
            std::shared_ptr<const CostSource> costs = nullptr);
  Evaluator(const Evaluator&) = delete;  // the network in use refers to its own cluster
  Evaluator& operator=(const Evaluator&) = delete;

  // The plan has been checked (check_run), so dp is set.
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
  // What chunks of a plan have in common; with a chunk's own layers and ends it decides its passes.
  struct ShapeKey {
    Choices choices;
    PlacedGroup tensor;
    PlacedGroup shard;  // where units gather and scatter inside passes
    PlacedGroup replica;
    bool drained = true;        // the host's lead is gone when a pass starts
    bool ends_together = true;  // one rank holds both ends of the model
    bool split = false;         // the schedule runs halves of the backward
    bool operator==(const ShapeKey&) const = default;
  };
  struct ShapeKeyHash {
    std::size_t operator()(const ShapeKey& key) const noexcept;
  };
  struct ChunkCost {
    Chunk chunk;
    bool laid_out = false;  // the segments are there, and model_flops
    Segment forward;
    Segment backward;
    Segment input;  // the backward's halves, where the schedule splits it
    Segment weight;
    PassBytes bytes;
    ParameterShare share;
    Flops model_flops;  // recomputation left out
  };
  struct Shape {
    std::vector<std::unique_ptr<ChunkCost>> chunks;  // by layers and ends
  };
  struct OptimizerKey {
    std::int64_t elements = 0;
    std::int64_t owned = 0;
    std::int64_t tensors = 0;
    UpdateFormat format;
    bool operator==(const OptimizerKey&) const = default;
  };
  struct OptimizerKeyHash {
    std::size_t operator()(const OptimizerKey& key) const noexcept;
  };
  struct Evaluation {  // one plan on its way from parts to a step
    const Plan* plan = nullptr;
    Placement placement;
    std::int64_t micro_batches = 0;
    std::int64_t per_chunk = 0;  // micro-batches through each chunk
    PipelineWork pipeline;
    Seconds step;
    std::size_t busiest = 0;
    double spread = 0;
    double send_spread = 0;
    double reduce_spread = 0;
    std::size_t worst_stage = 0;
    bool has_times = false;
  };

  const Network& network_of(const Plan& plan);
  Bytes layers_floor(const Plan& plan, ShapeKey key, std::int64_t micro_batches);
  ShapeKey shape_key(const Plan& plan, const Network& network, std::int64_t micro_batches) const;
  void use_shape(const ShapeKey& key);
  ChunkCost& chunk_bytes(const Chunk& chunk);                   // of the shape in use
  void lay_out_chunk(ChunkCost& cost, const Network& network);  // likewise
  const Segment& optimizer_cost(const OptimizerKey& key, const Network& network);
  const std::vector<std::int64_t>& layers_of(const Plan& plan);

  void evaluate(const Plan& plan, std::int64_t global_batch, Evaluation& out);
  void place(const Plan& plan, std::int64_t global_batch, Evaluation& out);  // chunks and states: bytes
  void add_bytes(Evaluation& e);
  void add_times(Evaluation& e);  // of passes, messages, reductions, updates
  void settle_clocks(const Placement& placement, std::int64_t per_chunk, std::int64_t micro_batches);
  double stretch_of(const Placement& placement, std::size_t node) const {
    return stage_parts_[static_cast<std::size_t>(placement.rank(static_cast<std::int64_t>(node)))].stretch;
  }
  void make_buckets(const ChunkCost& cost, double stretch, const Network& network, Bytes grad_bytes,
                    const Plan& plan);
  Seconds parameter_gather(const Plan& plan, const Network& network, std::size_t rank,
                           const Placement& placement) const;
  Uncertainty uncertainty(const Evaluation& e) const;
  void describe_peak(const Evaluation& e, std::size_t rank, StagePrediction& stage) const;
  void record(const Evaluation& e, StepTrace& trace);  // simulates the step again
  // Every segment that runs on a rank, at its clock, with how often it does in a step: visit(AtClock, times).
  template <class Visit>
  void for_each_segment(const Evaluation& e, std::size_t rank, Visit visit) const;

  Model model_;
  Cluster cluster_;
  Stack stack_;
  std::int64_t seq_;
  MemoCost costs_;
  std::unordered_map<ShapeKey, Shape, ShapeKeyHash> shapes_;
  std::pair<const ShapeKey, Shape>* shape_ = nullptr;  // in use
  std::size_t chunk_count_ = 0;
  std::unordered_map<OptimizerKey, Segment, OptimizerKeyHash> optimizers_;
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> splits_;

  // Buffers of one evaluation, kept from call to call.
  Evaluation current_;
  std::optional<Network> network_;
  Layout network_layout_;
  Timeline timeline_;
  std::vector<ChunkLoad> loads_;
  std::vector<StageUpdate> updates_;
  std::vector<Bucket> buckets_;
  std::vector<std::int64_t> chunk_layers_;
  struct ChunkParts {  // of a node, see timeline/schedule.h
    ChunkCost* cost = nullptr;
    std::size_t first_bucket = 0;
    std::size_t bucket_count = 0;
  };
  struct StageParts {    // of a rank: all its chunks
    double stretch = 1;  // of its clock, against the reference clock
    ParameterShare share;
    const Segment* optimizer = nullptr;
    StateBytes states;
    MemoryCounters memory;
  };
  std::vector<ChunkParts> chunk_parts_;
  std::vector<StageParts> stage_parts_;
};

// The whole way from a checked run; costs as above.
Prediction predict(const Run& run, std::shared_ptr<const CostSource> costs = nullptr,
                   StepTrace* trace = nullptr);

}  // namespace foretrain
