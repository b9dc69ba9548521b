// Fitted collectives in a cluster file, as `foretrain fit --cluster` writes them:
//   collectives:
//     - collective: all_reduce
//       tier: inter                    # between NVLink domains; intra: inside one
//       bandwidth_share: 0.0475        # of the links' stated rate
//       latency_scale: 1               # of the model's own latencies
//       unseen_error: 0.031            # mean absolute, on a layout left out of the fit
//       layouts:
//         - {ranks: 8, ranks_per_node: 1, samples: 632, error: 0.006, spread: 0.01,
//            bytes: [2.7e8, 2.4e9], factor: [1.01, 0.99]}
#pragma once

#include <string>
#include <vector>

#include "base/yaml.h"
#include "spec/fitted_collective.h"

namespace foretrain {

inline constexpr std::size_t kMaxFittedKnots = 256;
inline constexpr std::size_t kMaxFittedLayouts = 512;  // of all collectives

Result<std::vector<FittedCollective>> parse_fitted_collectives(const Node& list);
std::string to_yaml(const std::vector<FittedCollective>& collectives);  // with the key; empty for none

}  // namespace foretrain
