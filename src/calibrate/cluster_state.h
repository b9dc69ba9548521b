// What a calibration was learned about, by figures that predictions follow: factors are multiples of these, so that on a
// cluster of the same name with other figures they mean something else.
//
//   {gpus_per_node: 8, ..., inter_gbps: 400, ..., collectives: none}
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/cluster.h"

namespace foretrain {

using ClusterState = std::vector<std::pair<std::string, std::string>>;  // in a fixed order

ClusterState state_of(const Cluster& cluster);

// The first figure that differs: "inter_gbps 400 instead of 3200"; empty: none does.
std::string first_difference(const ClusterState& is, const ClusterState& from);

}  // namespace foretrain
