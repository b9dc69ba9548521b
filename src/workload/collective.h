// A collective: what is exchanged, among which group of ranks. Where those ranks sit, and so what it costs,
// is the network's business.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace foretrain {

enum class CollectiveKind : unsigned char {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kSendReceive,
};
inline constexpr int kCollectiveKindCount = 6;
inline constexpr std::array<std::string_view, kCollectiveKindCount> kCollectiveNames = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_receive"};
constexpr std::string_view name(CollectiveKind kind) { return kCollectiveNames[static_cast<int>(kind)]; }

// Ranks are numbered tensor fastest, then context, data, pipeline. A group is every rank that differs from
// its members in one coordinate only (two for kModel).
enum class GroupKind : unsigned char {
  kTensor,
  kContext,
  kData,       // data times context: those that hold the same weights
  kPipeline,   // neighbours exchange activations
  kEmbedding,  // first and last stage
  kModel,      // tensor times pipeline: those that hold one copy of the model
};
inline constexpr int kGroupKindCount = 6;
inline constexpr std::array<std::string_view, kGroupKindCount> kGroupNames = {
    "tensor", "context", "data", "pipeline", "embedding", "model"};
constexpr std::string_view name(GroupKind group) { return kGroupNames[static_cast<int>(group)]; }

struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  GroupKind group = GroupKind::kTensor;
  Bytes bytes;  // the whole tensor: an all-gather's result, a reduce-scatter's operand, one message

  bool operator==(const Collective&) const = default;
};

}  // namespace foretrain
