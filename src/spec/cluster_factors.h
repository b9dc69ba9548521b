// What a cluster's own measurements may move: a few physical factors, each the logarithm of a multiple of time. 0.1 says
// that what it stands for takes exp(0.1) = 1.105 times as long as it is predicted to.
//
//   products          products and attention: the GPU's rate that kernels reach
//   memory_bound      every other operator: what streams from memory
//   host              what the host takes to issue a kernel, and its stalls
//   intra_bandwidth   bytes over the links inside a node or NVLink domain
//   inter_bandwidth   bytes over the links between nodes
//   intra_latency     a step of a collective inside
//   inter_latency     a step of a collective between nodes
//   beside            how much longer operators and collectives take beside each other (segment/contention.h)
//
// Bandwidths take along what kernels of collectives take to copy, latencies what collectives take to start: all factors but
// the last at x make a step exp(x) times as long. The first three are of operators (cost/scaled_cost.h), the others and the host's
// figures of the cluster, so that nobody who predicts has to know of factors.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "spec/cluster.h"

namespace foretrain {

enum class ClusterFactor : unsigned char {
  kMatrixProducts,
  kMemoryBound,
  kHost,
  kIntraBandwidth,
  kInterBandwidth,
  kIntraLatency,
  kInterLatency,
  kBeside,
};
inline constexpr std::size_t kClusterFactorCount = 8;
inline constexpr std::array<std::string_view, kClusterFactorCount> kClusterFactorNames = {
    "products",        "memory_bound",  "host",          "intra_bandwidth",
    "inter_bandwidth", "intra_latency", "inter_latency", "beside"};
constexpr std::string_view name(ClusterFactor f) { return kClusterFactorNames[static_cast<std::size_t>(f)]; }

// Logarithms of multiples of time, one a factor.
using ClusterFactors = std::array<double, kClusterFactorCount>;
inline double of(const ClusterFactors& factors, ClusterFactor f) {
  return factors[static_cast<std::size_t>(f)];
}

// All that takes time takes exp(log_times) times as long besides: all factors but that of a ratio.
inline ClusterFactors shifted(ClusterFactors factors, double log_times) {
  for (std::size_t k = 0; k < kClusterFactorCount; ++k)
    if (static_cast<ClusterFactor>(k) != ClusterFactor::kBeside) factors[k] += log_times;
  return factors;
}

// The cluster with its host and links as slow as that; what operators take alone is left alone.
Cluster scaled(Cluster cluster, const ClusterFactors& factors);

}  // namespace foretrain
