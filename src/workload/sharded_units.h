// ZeRO 2 and 3 inside passes: a block, the embedding or the head is a unit, whose weights are gathered before
// its passes and whose gradients are scattered after its backward (Rajbhandari et al. 2020, arXiv 1910.02054;
// Zhao et al. 2023, arXiv 2304.11277).
#pragma once

#include "workload/workload.h"

namespace foretrain {

// The weights of a unit, by class: those that are trained, and bytes of what lies frozen beside them.
struct UnitWeights {
  ByClass<std::int64_t> elements;
  ByClass<double> frozen;
  ByClass<std::int64_t> matrices;  // of the trained, those that products may take in fewer bits
  std::int64_t tensors = 0;

  std::int64_t trained() const { return elements[WeightClass::kCommon] + elements[WeightClass::kExperts]; }
  bool empty() const {
    return trained() == 0 && frozen[WeightClass::kCommon] == 0 && frozen[WeightClass::kExperts] == 0;
  }
  void take_away(const UnitWeights& other, std::int64_t times) {
    tensors -= times * other.tensors;
    for (const WeightClass of : kWeightClasses) {
      elements[of] -= times * other.elements[of];
      frozen[of] -= static_cast<double>(times) * other.frozen[of];
      matrices[of] -= times * other.matrices[of];
    }
  }
};

// Writes gathers and scatters around the work of units.
class UnitWriter {
 public:
  UnitWriter(const Model& model, const Stack& stack, const PassShape& shape, ChunkWork& work)
      : model_(model), stack_(stack), shape_(shape), work_(work) {}

  // A whole unit. An end of the model keeps its weights from forward to backward: the head's backward follows
  // at once, and the embedding's does not need them.
  void unit(Repeat& forward, Repeat& backward, const UnitWeights& weights, bool is_block);

  // The gathered weights of blocks: all of them, where they stay until the backward; else those at work and
  // on their way, of the largest kind.
  void keep_blocks(const UnitWeights& weights, std::int64_t blocks);
  void hold_blocks(const UnitWeights& largest, std::int64_t blocks);

  UnitWeights weights(const Chunk& part, bool ends_together) const;
  // Of these, those that ranks share.
  Bytes gathered(const UnitWeights& weights) const;

 private:
  // The weights of this many parameters, before a pass of the unit.
  void gather(std::vector<Task>& tasks, const UnitWeights& weights, Direction direction) const;
  std::vector<Task> one_by_one(const std::vector<Task>& gathers, const UnitWeights& weights,
                               std::int64_t tensors, Direction direction) const;
  // Of one of so many tensors.
  Task shard_copies(const UnitWeights& weights, std::int64_t tensors, Direction direction) const;
  // Their gradients, after its backward: to shards, which copies of the model then sum.
  void scatter(std::vector<Task>& tasks, const UnitWeights& weights);
  Bytes weight_bytes(const UnitWeights& weights, WeightClass of) const;
  void copy(std::vector<Task>& tasks, std::int64_t elements) const;
  Task collective(CollectiveKind kind, GroupKind group, Bytes bytes, Direction direction) const;

  const Model& model_;
  const Stack& stack_;
  const PassShape& shape_;
  ChunkWork& work_;
};

}  // namespace foretrain
