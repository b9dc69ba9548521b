// Groups of ranks that exchange something. A group is a size and a stride, never a list of ranks: a plan has
// up to millions of ranks, and how its groups lie follows from a few numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace foretrain {

enum class GroupKind : unsigned char {
  kTensor,
  kContext,
  kData,          // data times context: those that hold the same weights
  kPipeline,      // neighbours exchange activations
  kEmbedding,     // first and last stage
  kModel,         // tensor times pipeline: those that hold one copy of the model
  kExpert,        // those that exchange tokens among experts, taken out of tensor times context times data
  kExpertTensor,  // those that share each expert
  kShard,         // of kData, neighbours that hold one copy of what ZeRO divides
  kReplica,       // of kData, those that hold the same share of it
  // Of experts' weights, as kData, kShard and kReplica are of all others.
  kExpertData,
  kExpertShard,
  kExpertReplica,
  // Of kContext: neighbours that exchange heads for tokens, and those that stand at the same place in each of
  // these groups, which pass keys and values round. Without hierarchy, one rank and all of them.
  kContextInner,
  kContextRing,
};
inline constexpr int kGroupKindCount = 15;
inline constexpr std::array<std::string_view, kGroupKindCount> kGroupNames = {
    "tensor",      "context",      "data",           "pipeline",      "embedding",
    "model",       "expert",       "expert_tensor",  "shard",         "replica",
    "expert_data", "expert_shard", "expert_replica", "context_inner", "context_ring"};
constexpr std::string_view name(GroupKind group) { return kGroupNames[static_cast<int>(group)]; }

// All groups of a kind at once. Each has the ranks
//   first + i * stride + j * apart    for i < size, j < times
// and they lie beside and between each other so that together they hold every rank once. Pairs do not: any
// two ranks `stride` apart exchange a message, so that a rank of an inner stage is in two of them.
//   size 4, stride 8 of 32 ranks:                      {0, 8, 16, 24}, {1, 9, 17, 25}, ...
//   size 2, stride 1, 3 times, 4 apart of 12 ranks:    {0, 1, 4, 5, 8, 9}, {2, 3, 6, 7, 10, 11}
//   pairs, stride 4 of 12 ranks:                       {0, 4}, ..., {3, 7}, {4, 8}, ..., {7, 11}
struct Group {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t times = 1;
  std::int64_t apart = 0;  // of groups that go on more than once
  bool pairs = false;

  constexpr std::int64_t ranks() const { return size * times; }
  bool operator==(const Group&) const = default;
};

}  // namespace foretrain
