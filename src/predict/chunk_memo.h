// Passes remembered by shape: a search comes back to the same chunks of layers in plan after plan, and inner
// stages of equal size share one. Bytes come first; passes are laid out only where somebody asks for seconds,
// which stand at the reference clock. Updates of the optimizer are remembered by size likewise.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "cost/memo.h"
#include "job/job.h"
#include "memory/memory.h"
#include "network/network.h"
#include "segment/segment.h"
#include "workload/chunk.h"
#include "workload/optimizer_step.h"
#include "workload/parameter_share.h"
#include "workload/workload.h"

namespace foretrain {

// What chunks of a plan have in common; with a chunk's own layers and ends it decides its passes.
struct ShapeKey {
  PassShape passes;
  PlacedGroup tensor;
  PlacedGroup shard;  // where units gather and scatter inside passes
  PlacedGroup replica;
  PlacedGroup expert;  // where tokens travel
  PlacedGroup expert_tensor;
  PlacedGroup expert_shard;
  PlacedGroup expert_replica;
  PlacedGroup context;  // where keys and values travel
  PlacedGroup context_ring;
  bool drained = true;        // the host's lead is gone when a pass starts
  bool ends_together = true;  // one rank holds both ends of the model
  bool split = false;         // the schedule runs halves of the backward
  bool operator==(const ShapeKey&) const = default;
};
ShapeKey shape_key(const Setting& setting, const Job& job, const Network& network);
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
  // What a pass takes longer that has no other micro-batch's work to send its tokens beside.
  Seconds forward_unpaired;
  Seconds backward_unpaired;
  PassBytes bytes;
  ParameterShare share;
  Flops model_flops;                       // recomputation left out
  std::unique_ptr<ChunkCost> other_kinds;  // the next of as many layers, of other kinds
};

struct OptimizerKey {
  std::int64_t elements = 0;
  std::int64_t owned = 0;
  std::int64_t tensors = 0;
  UpdateFormat format;
  NarrowMatrices matrices;
  MatrixKinds iterated{};
  bool operator==(const OptimizerKey&) const = default;
};

class ChunkMemo {
 public:
  // The setting must outlive it.
  ChunkMemo(const Setting& setting, std::shared_ptr<const CostSource> costs);

  const PowerModel* power() const { return costs_.power(); }
  // The shape in use, of which what follows speaks. A shape may be forgotten when the next is used.
  void use_shape(const ShapeKey& key);
  const ShapeKey& shape() const { return shape_->first; }
  ChunkCost& bytes(const Chunk& chunk);
  void lay_out(ChunkCost& cost, const Network& network);

  const Segment& optimizer(const OptimizerKey& key, const Network& network);

  // A chunk of any shape, which is not remembered: what it is put together of is.
  ChunkWork write(const PassShape& shape, const Chunk& chunk);
  const CostSource& costs() const { return costs_; }

 private:
  struct OptimizerKeyHash {
    std::size_t operator()(const OptimizerKey& key) const noexcept;
  };
  struct Shape {
    std::vector<std::unique_ptr<ChunkCost>> chunks;  // by number of layers and ends
  };

  struct PassShapeHash {
    std::size_t operator()(const PassShape& shape) const noexcept;
  };

  const Setting& setting_;
  MemoCost costs_;
  std::unordered_map<PassShape, WrittenUnits, PassShapeHash> units_;
  std::pair<const PassShape, WrittenUnits>* units_in_use_ = nullptr;
  std::unordered_map<ShapeKey, Shape, ShapeKeyHash> shapes_;
  std::pair<const ShapeKey, Shape>* shape_ = nullptr;  // in use
  std::size_t chunk_count_ = 0;
  std::unordered_map<OptimizerKey, Segment, OptimizerKeyHash> optimizers_;
};

}  // namespace foretrain
