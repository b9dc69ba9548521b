// Predicts plans of one model on one cluster with one stack. It owns the memos: segments by chunk shape,
// optimizer steps by size, layer splits by chunk count. One a thread.
//
// score() and predict() take the same path; score() keeps a small value and, once warm, allocates nothing.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "cost/memo.h"
#include "memory/memory.h"
#include "predict/prediction.h"
#include "predict/trace.h"
#include "segment/segment.h"
#include "spec/run.h"
#include "timeline/timeline.h"

namespace foretrain {

class Evaluator {
 public:
  // Operators cost what `costs` says; null: what physics says of the cluster's GPU.
  Evaluator(Model model, Cluster cluster, Stack stack, std::int64_t seq,
            std::shared_ptr<const CostSource> costs = nullptr);

  // The plan has been checked (check_run), so dp is set.
  Score score(const Plan& plan, std::int64_t global_batch);
  // The same prediction, whether or not `trace` is filled with what the step's events were.
  Prediction predict(const Plan& plan, std::int64_t global_batch, StepTrace* trace = nullptr);

 private:
  struct ChunkKey {
    Choices choices;
    Chunk chunk;
    PlacedGroup tensor;
    PlacedGroup shard;  // where units gather and scatter inside passes
    PlacedGroup replica;
    bool drained = true;        // the host's lead is gone when a pass starts
    bool ends_together = true;  // one rank holds both ends of the model
    bool split = false;         // the schedule runs halves of the backward
    bool operator==(const ChunkKey&) const = default;
  };
  struct ChunkKeyHash {
    std::size_t operator()(const ChunkKey& key) const noexcept;
  };
  struct ChunkCost {
    Segment forward;
    Segment backward;
    Segment input;  // the backward's halves, where the schedule splits it
    Segment weight;
    PassBytes bytes;
    ParameterShare share;
    Flops model_flops;  // recomputation left out
  };
  struct OptimizerKey {
    std::int64_t elements = 0;
    std::int64_t owned = 0;
    std::int64_t tensors = 0;
    Dtype precision = Dtype::kBf16;
    Dtype grad_dtype = Dtype::kFp32;
    bool operator==(const OptimizerKey&) const = default;
  };
  struct OptimizerKeyHash {
    std::size_t operator()(const OptimizerKey& key) const noexcept;
  };
  struct Evaluation;  // one plan on its way from parts to a step

  const ChunkCost& chunk_cost(const ChunkKey& key, const Network& network);
  const Segment& optimizer_cost(const OptimizerKey& key, const Network& network);
  const std::vector<std::int64_t>& layers_of(const Plan& plan);

  void evaluate(const Plan& plan, std::int64_t global_batch, Evaluation& out);
  void make_buckets(const ChunkCost& cost, const Network& network, Bytes grad_bytes, const Plan& plan);
  Seconds parameter_gather(const Plan& plan, const Network& network, std::size_t rank,
                           const Placement& placement) const;
  double step_spread(const Evaluation& e) const;
  void record(const Evaluation& e, StepTrace& trace);  // simulates the step again
  // Every segment that runs on a rank, with how often it does in a step: visit(segment, times).
  template <class Visit>
  void for_each_segment(const Evaluation& e, std::size_t rank, Visit visit) const;

  Model model_;
  Cluster cluster_;
  Stack stack_;
  std::int64_t seq_;
  MemoCost costs_;
  std::unordered_map<ChunkKey, ChunkCost, ChunkKeyHash> chunks_;
  std::unordered_map<OptimizerKey, Segment, OptimizerKeyHash> optimizers_;
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> splits_;

  // Buffers of one evaluation, kept from call to call.
  Timeline timeline_;
  std::vector<ChunkLoad> loads_;
  std::vector<StageUpdate> updates_;
  std::vector<Bucket> buckets_;
  std::vector<std::int64_t> chunk_layers_;
  struct ChunkParts {  // of a node, see timeline/schedule.h
    const ChunkCost* cost = nullptr;
    std::size_t first_bucket = 0;
    std::size_t bucket_count = 0;
  };
  struct StageParts {  // of a rank: all its chunks
    ParameterShare share;
    const Segment* optimizer = nullptr;
    StateBytes states;
  };
  std::vector<ChunkParts> chunk_parts_;
  std::vector<StageParts> stage_parts_;
};

// The whole way from a checked run; costs as above.
Prediction predict(const Run& run, std::shared_ptr<const CostSource> costs = nullptr,
                   StepTrace* trace = nullptr);

}  // namespace foretrain
