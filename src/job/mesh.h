// How a plan lays its ranks out, and every group and every number of ranks that follows. Ranks are numbered
// tensor fastest, then context, data, pipeline. The ranks of a group differ in the coordinates that it
// is named for, and in no other. Experts are laid out over the same ranks of a stage on their own: expert
// tensor fastest, then expert, then expert data, whatever tensor, context and data are (Megatron-LM's
// parallel_state).
//
//   tp=4, dp=8, pp=4: a tensor group is 4 neighbours, a data group 8 ranks 4 apart, a stage 32 ranks, so
//   that pipeline neighbours are 32 apart; a copy of the model is 4 neighbours in each of 4 stages.
#pragma once

#include <cstdint>
#include <numeric>

#include "job/weight_class.h"
#include "spec/plan.h"

namespace foretrain {

// Over how many ranks a layer's weights are divided: tensor ranks, and those of experts.
struct WeightRanks {
  std::int64_t tp = 1;
  std::int64_t ep = 1;
  std::int64_t etp = 1;
};

struct Mesh {
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  std::int64_t dp = 1;
  std::int64_t pp = 1;
  std::int64_t ep = 1;      // of a stage's ranks
  std::int64_t etp = 1;     // likewise
  std::int64_t cp_a2a = 1;  // of the context ranks, neighbours
  std::int64_t shard = 0;   // of the data ranks; 0: all of them

  constexpr std::int64_t gpus() const { return stage_ranks() * pp; }
  // Those of one pipeline stage, which do the same at the same time.
  constexpr std::int64_t stage_ranks() const { return tp * data_ranks(); }
  // Those that hold the same weights, and sum their gradients.
  constexpr std::int64_t data_ranks() const { return cp * dp; }
  // Those that share one copy of what ZeRO divides, where it divides at all; and how many copies there are.
  constexpr std::int64_t shards() const { return shard > 0 ? shard : data_ranks(); }
  constexpr std::int64_t replicas() const { return data_ranks() / shards(); }

  // Likewise of experts' weights.
  constexpr std::int64_t expert_ranks() const { return ep * etp; }
  constexpr std::int64_t data_ranks(WeightClass weights) const {
    return weights == WeightClass::kCommon ? data_ranks() : stage_ranks() / expert_ranks();
  }
  constexpr std::int64_t replicas(WeightClass weights) const {
    return weights == WeightClass::kCommon ? replicas() : std::gcd(data_ranks(weights), replicas());
  }
  constexpr std::int64_t shards(WeightClass weights) const {
    return weights == WeightClass::kCommon ? shards() : data_ranks(weights) / replicas(weights);
  }

  constexpr WeightRanks weight_ranks() const { return {tp, ep, etp}; }
  Group group(GroupKind kind) const;

  bool operator==(const Mesh&) const = default;
};

// Of a plan whose dp is known. Equal meshes compare equal, however a plan states its shards.
Mesh mesh_of(const Plan& plan);

}  // namespace foretrain
