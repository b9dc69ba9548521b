// A cluster's file (docs/formats/cluster.md), read and written.
#pragma once

#include <functional>
#include <string>

#include "base/yaml.h"
#include "spec/cluster.h"

namespace foretrain {

// `gpu_of` finds the GPU by name (or path); an inline map is read in place.
Result<Cluster> parse_cluster(const Node& node, const std::function<Result<Gpu>(const Node&)>& gpu_of);
std::string to_yaml(const Cluster& cluster);

}  // namespace foretrain
