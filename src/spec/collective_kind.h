// The collectives that a training step is made of. Dispatch and combine exchange tokens among the ranks that
// hold experts, by kernels that know where each token goes: a token leaves once for each rank that holds any
// of its experts, and once for each other NVLink domain. They come in two families, timed apart: DeepEP's, and
// those of HybridEP, which need fewer SMs for the same links.
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
  kDispatch,
  kCombine,
  kHybridDispatch,
  kHybridCombine,
};
inline constexpr int kCollectiveKindCount = 10;
inline constexpr std::array<std::string_view, kCollectiveKindCount> kCollectiveNames = {
    "all_reduce",   "all_gather", "reduce_scatter", "broadcast",       "all_to_all",
    "send_receive", "dispatch",   "combine",        "hybrid_dispatch", "hybrid_combine"};
constexpr std::string_view name(CollectiveKind kind) { return kCollectiveNames[static_cast<int>(kind)]; }

// Those whose bytes follow where experts lie (spec/routing.h).
constexpr bool is_routed(CollectiveKind kind) { return kind >= CollectiveKind::kDispatch; }

}  // namespace foretrain
