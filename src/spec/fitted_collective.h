// What samples of a fabric taught about one collective: how much of the links it really gets, how its steps
// compare with NCCL's own figures, and, for each layout that was sampled, how its time departs from that
// model as the message grows. In a cluster file, written by `foretrain fit --cluster`:
//   collectives:
//     - collective: all_reduce
//       tier: inter                    # between NVLink domains; intra: inside one
//       bandwidth_share: 0.0475        # of the links' stated rate
//       latency_scale: 1               # of the model's own latencies
//       unseen_error: 0.031            # mean absolute, on a layout left out of the fit
//       layouts:
//         - {ranks: 8, ranks_per_node: 1, samples: 632, error: 0.006, spread: 0.01,
//            bytes: [2.7e8, 2.4e9], factor: [1.01, 0.99]}
// `factor` multiplies the model's time at `bytes`; between two of them it is interpolated over the logarithm
// of the bytes; below the smallest it fades to 1, above the largest it stays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/yaml.h"
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
  double unseen_error = 0.0;  // of a layout that is not below
  std::vector<FittedLayout> layouts;

  bool operator==(const FittedCollective&) const = default;
};

inline constexpr std::size_t kMaxFittedKnots = 256;
inline constexpr std::size_t kMaxFittedLayouts = 512;  // of all collectives

Result<std::vector<FittedCollective>> parse_fitted_collectives(const Node& list);
std::string to_yaml(const std::vector<FittedCollective>& collectives);  // with the key; empty for none

}  // namespace foretrain
