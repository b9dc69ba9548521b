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
//
// The first three are of operators (cost/scaled_cost.h), host and links figures of the cluster, so that nobody who predicts
// has to know of factors.
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
};
inline constexpr std::size_t kClusterFactorCount = 7;
inline constexpr std::array<std::string_view, kClusterFactorCount> kClusterFactorNames = {
    "products",        "memory_bound",  "host",         "intra_bandwidth",
    "inter_bandwidth", "intra_latency", "inter_latency"};
constexpr std::string_view name(ClusterFactor f) { return kClusterFactorNames[static_cast<std::size_t>(f)]; }

// Logarithms of multiples of time, one a factor.
using ClusterFactors = std::array<double, kClusterFactorCount>;
inline double of(const ClusterFactors& factors, ClusterFactor f) {
  return factors[static_cast<std::size_t>(f)];
}

// The cluster with its host and links as slow as that; operators' times are left alone.
Cluster scaled(Cluster cluster, const ClusterFactors& factors);

}  // namespace foretrain
