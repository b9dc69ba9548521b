// What `nvidia-smi topo -m` prints of a node, and the cluster that follows from it (docs/formats/topo.md):
//           GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity
//   GPU0     X      NV18    PIX     0-55            0
//   GPU1    NV18     X      SYS     56-111          1
//   NIC0    PIX     SYS      X
// NVn is a bond of n NVLinks; PIX and PXB pass PCIe switches alone, PHB a host bridge, NODE several of one NUMA
// node, SYS the link between those.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretrain {

struct Topology {
  std::string file;
  std::int64_t gpus = 0, nics = 0;
  std::int64_t near_nics = 0;      // that some GPU reaches by PCIe switches alone
  std::int64_t numa_nodes = 0;     // that GPUs lie on; 0: not said
  std::int64_t nvlinks = 0;        // between any two GPUs; 0: not all pairs have the same, or none
  std::int64_t nvlink_domain = 1;  // GPUs of the largest group that NVLink joins
  std::set<std::string> links;     // words of the table but X: "NV18", "PIX"
};

inline constexpr std::size_t kMaxTopoBytes = std::size_t{1} << 20;

// A table that is cut short below is read as far as it goes, so long as it has a line for every GPU.
Result<Topology> parse_topo(std::string_view text, const std::string& file_name);

// A cluster file: what the table does not say is assumed and says so. `gpu` is a preset's name; empty: by the
// number of NVLinks.
struct TopoCluster {
  std::string yaml;
  std::vector<std::string> assumed;
};
std::string usual_gpu(const Topology& topology);
TopoCluster topo_cluster(const Topology& topology, const std::string& gpu, double nvlink_gbytes,
                         bool gpu_is_assumed);

}  // namespace foretrain
