// The collectives that a training step is made of.
#pragma once

#include <array>
#include <string_view>

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

}  // namespace foretrain
