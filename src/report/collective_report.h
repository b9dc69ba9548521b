// A cluster's collectives for people: what was fitted from samples and how well it holds, and the bus
// bandwidth by collective, ranks and size.
#pragma once

#include <string>
#include <vector>

#include "fit/collective_fit.h"
#include "samples/collective_clean.h"
#include "spec/cluster.h"

namespace foretrain {

struct CollectiveFitReport {
  std::string cluster;
  std::string samples_name;
  std::size_t read = 0, used = 0;
  std::vector<CollectiveRejection> rejections;
  std::vector<FittedCollective> fitted;
  std::vector<CollectiveStudyRow> study;
  std::string written;  // the cluster's folder; empty: none
};
std::string collective_fit_text(const CollectiveFitReport& report);
std::string collective_fit_json(const CollectiveFitReport& report);

// A line a layout:
//   collective  tier   bandwidth  latency  layout  samples  error  sampled sizes
//   all_reduce  inter      4.8 %   x 1.00  8x1         632  0.6 %  268 MB .. 2.4 GB
std::string fitted_collectives_text(const std::vector<FittedCollective>& fitted);

// Bus bandwidth in GB/s, as nccl-tests counts it, of a group that has its nodes to itself, and what it runs:
//   collective  ranks   64 KB       1 MB        16 MB        256 MB        4 GB
//   all_reduce  8 (1 node)  2.1 LL  ...
std::string bus_bandwidth_text(const Cluster& cluster);

}  // namespace foretrain
