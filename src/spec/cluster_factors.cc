#include "spec/cluster_factors.h"

#include <cmath>

namespace foretrain {
namespace {

void slow_down(Link& link, double bandwidth, double latency) {
  link.bandwidth = link.bandwidth / std::exp(bandwidth);
  link.pair = link.pair / std::exp(bandwidth);
  link.copy_scale *= std::exp(bandwidth);
  link.latency = link.latency * std::exp(latency);
  link.start_scale *= std::exp(latency);
}

}  // namespace

Cluster scaled(Cluster cluster, const ClusterFactors& factors) {
  const auto log_of = [&](ClusterFactor f) { return of(factors, f); };
  const double host = std::exp(log_of(ClusterFactor::kHost));
  cluster.host_launch = cluster.host_launch * host;
  cluster.host_stall = cluster.host_stall * host;
  cluster.beside_scale *= std::exp(log_of(ClusterFactor::kBeside));
  slow_down(cluster.intra, log_of(ClusterFactor::kIntraBandwidth), log_of(ClusterFactor::kIntraLatency));
  slow_down(cluster.inter, log_of(ClusterFactor::kInterBandwidth), log_of(ClusterFactor::kInterLatency));
  return cluster;
}

}  // namespace foretrain
