// A collective: what is exchanged, among which group of ranks. Where those ranks sit, and so what it costs,
// is the network's business.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "spec/collective_kind.h"

namespace foretrain {

// Ranks are numbered tensor fastest, then context, data, pipeline. A group is every rank that differs from
// its members in one coordinate only (two for kModel).
enum class GroupKind : unsigned char {
  kTensor,
  kContext,
  kData,       // data times context: those that hold the same weights
  kPipeline,   // neighbours exchange activations
  kEmbedding,  // first and last stage
  kModel,      // tensor times pipeline: those that hold one copy of the model
  kExpert,     // those that exchange tokens among experts, taken out of tensor times context times data
  kShard,      // of kData, neighbours that hold one copy of what ZeRO divides
  kReplica,    // of kData, those that hold the same share of it
};
inline constexpr int kGroupKindCount = 9;
inline constexpr std::array<std::string_view, kGroupKindCount> kGroupNames = {
    "tensor", "context", "data", "pipeline", "embedding", "model", "expert", "shard", "replica"};
constexpr std::string_view name(GroupKind group) { return kGroupNames[static_cast<int>(group)]; }

struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  GroupKind group = GroupKind::kTensor;
  Bytes bytes;            // the whole tensor: an all-gather's result, a reduce-scatter's operand, one message
  bool in_place = false;  // a rank's own share lies where it belongs already: nothing is copied beside

  bool operator==(const Collective&) const = default;
};

}  // namespace foretrain
