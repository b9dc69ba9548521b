// What nvidia-smi topo -m told, for programs (docs/formats/topo.md); for people it is the cluster file itself.
#pragma once

#include <string>

#include "samples/topo.h"

namespace foretrain {

std::string topo_json(const Topology& topology, const TopoCluster& cluster);

}  // namespace foretrain
