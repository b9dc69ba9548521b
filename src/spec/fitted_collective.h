// What samples of a fabric taught about one collective: how much of the links it really gets, how its steps
// compare with NCCL's own figures, and, for each layout that was sampled, how its time departs from that
// model as the message grows.
// `factor` multiplies the model's time at `bytes`; between two of them it is interpolated over the logarithm
// of the bytes; below the smallest it fades to 1, above the largest it stays. The bytes of a dispatch or combine
// are those of the copies that it makes (copied_bytes in spec/routing.h), whatever the routing was.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "spec/collective_kind.h"

namespace foretrain {

enum class Tier : unsigned char { kIntra, kInter };
inline constexpr std::array<std::string_view, 2> kTierNames = {"intra", "inter"};
constexpr std::string_view name(Tier tier) { return kTierNames[static_cast<std::size_t>(tier)]; }

struct FittedLayout {
  std::int64_t ranks = 2;
  std::int64_t ranks_per_node = 1;
  std::int64_t samples = 0;
  double error = 0.0;          // mean absolute, cross-validated
  double spread = 0.0;         // relative, one standard deviation
  std::vector<double> bytes;   // ascending
  std::vector<double> factor;  // as many

  bool operator==(const FittedLayout&) const = default;
};

struct FittedCollective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Tier tier = Tier::kIntra;
  double bandwidth_share = 1.0;
  double latency_scale = 1.0;
  Seconds row;                // of dispatches and combines: what each token takes beside its bytes
  double unseen_error = 0.0;  // of a layout that is not below
  std::vector<FittedLayout> layouts;

  bool operator==(const FittedCollective&) const = default;
};

}  // namespace foretrain
