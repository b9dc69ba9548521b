#include "spec/cluster_factors.h"

#include <cmath>
#include <vector>

namespace foretrain {
namespace {

void slow_down(Link& link, double bandwidth, double latency) {
  link.bandwidth = link.bandwidth / std::exp(bandwidth);
  link.pair = link.pair / std::exp(bandwidth);
  link.latency = link.latency * std::exp(latency);
  link.rank_step = link.rank_step * std::exp(latency);
}

// What tokens of a dispatch or combine take beside their bytes.
void slow_down(std::vector<FittedCollective>& fits, double intra, double inter) {
  for (FittedCollective& fit : fits) fit.row = fit.row * std::exp(fit.tier == Tier::kIntra ? intra : inter);
}

}  // namespace

Cluster scaled(Cluster cluster, const ClusterFactors& factors) {
  const auto log_of = [&](ClusterFactor f) { return of(factors, f); };
  const double host = std::exp(log_of(ClusterFactor::kHost));
  cluster.host_launch = cluster.host_launch * host;
  cluster.host_stall = cluster.host_stall * host;
  slow_down(cluster.intra, log_of(ClusterFactor::kIntraBandwidth), log_of(ClusterFactor::kIntraLatency));
  slow_down(cluster.inter, log_of(ClusterFactor::kInterBandwidth), log_of(ClusterFactor::kInterLatency));
  for (std::vector<FittedCollective>* fits : {&cluster.collectives, &cluster.gpu.collectives})
    slow_down(*fits, log_of(ClusterFactor::kIntraBandwidth), log_of(ClusterFactor::kInterBandwidth));
  return cluster;
}

}  // namespace foretrain
