// A cluster: nodes of GPUs, the links inside and between them, and the host's speed at launching.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "spec/fitted_collective.h"
#include "spec/gpu.h"

namespace foretrain {

// One tier of links, seen from one GPU (intra) or one node (inter), each way.
struct Link {
  BytesPerSecond bandwidth;
  BytesPerSecond pair;                 // between two GPUs where no switch joins them; zero: switched
  Seconds latency;                     // one step of a ring by NCCL's Simple protocol
  double collective_efficiency = 0.8;  // share of bandwidth that large collectives reach
  double p2p_efficiency = 0.9;         // likewise send and receive
  double nvls_efficiency = 0.0;        // rate of an all-reduce in the switch over bandwidth; 0: none
  Seconds rank_step;                   // of inter: on top, every step of a ring that leaves a node
  double start_scale = 1.0;            // multiple of what collectives take to start, rank_step included
  double copy_scale = 1.0;             // and of what their kernels take to copy and sort what they exchange
  bool assumed = false;                // the rate is a guess by hardware generation

  bool operator==(const Link&) const = default;
};

// The switches between nodes. By default nothing that leaves a node is slowed by them.
struct Fabric {
  std::int64_t leaf_nodes = 0;    // nodes below one leaf switch (or one set of rail switches); 0: all
  double oversubscription = 1.0;  // a leaf's links down over its links up
  bool rail_optimized = false;    // the i-th NICs of a leaf's nodes share a switch, different ones meet above

  bool operator==(const Fabric&) const = default;
};

// How steps of one run differ, where that was measured. A stall holds up one node, and with it the whole
// step: every rank waits for every other several times a step.
struct Jitter {
  double spread = 0.0;          // of a GPU's passes from step to step, relative
  double message_spread = 0.0;  // of messages and collectives between nodes, likewise
  double stalls_per_node_hour = 0.0;
  Seconds stall;  // mean length; lengths are exponential

  bool operator==(const Jitter&) const = default;
};

struct Cluster {
  std::string name;
  Gpu gpu;
  std::int64_t gpus_per_node = 0;
  std::int64_t nvlink_domain = 0;  // GPUs that reach each other by NVLink; at least a node
  Link intra;
  Link inter;
  std::int64_t nics = 1;  // a node
  Fabric fabric;
  std::vector<FittedCollective> collectives;  // where samples exist
  Seconds host_launch;                        // host time to issue one kernel through the framework
  Seconds host_stall;         // of a host, a block and direction, while pipeline messages cross nodes
  double beside_scale = 1.0;  // multiple of what operators and collectives take longer beside each other
  BytesPerSecond
      host;           // between a node's GPUs and its memory, each way, all of them together; zero: no limit
  Bytes host_memory;  // of a node; zero: not stated
  std::optional<BytesPerSecond>
      cpu_memory;  // that all CPUs of a node reach together; absent: job/fine_tuning.h
  std::optional<double> price_per_gpu_hour;  // USD
  std::optional<Jitter> jitter;
  std::string source;

  bool operator==(const Cluster&) const = default;
};

// Between one GPU and its node's memory, each way, while all of them use it.
inline BytesPerSecond host_rate(const Cluster& cluster) {
  if (cluster.host == BytesPerSecond()) return cluster.gpu.host;
  return std::min(cluster.gpu.host, cluster.host / static_cast<double>(cluster.gpus_per_node));
}

}  // namespace foretrain
