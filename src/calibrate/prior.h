// How far factors are likely to be off before anything is measured: deviations of their logarithms, in proportion to each
// other, and what the first three have in common.
//
//   host 0.25      machines differ by 21 % in the mean (predict/uncertainty.h)
//   common 0.15    of the first three: frameworks that nobody described are slower by 10 to 15 % in the mean (likewise)
//   products 0.03, memory_bound 0.05; bandwidths 0.15 inside a node, 0.30 between; latencies 0.30, 0.60: assumed, from what is
//                  sampled best to what depends most on the fabric
//   beside 0.40    collectives slow operators down by 18.9 % in the mean and 40 at most (segment/contention.h): the most is
//                  taken for two deviations
#pragma once

#include "spec/cluster_factors.h"

namespace foretrain {

inline constexpr ClusterFactors kFactorDeviations = {0.03, 0.05, 0.25, 0.15, 0.30, 0.30, 0.60, 0.40};
inline constexpr double kCommonDeviation = 0.15;
inline constexpr std::size_t kCommonFactors = 3;  // the first of them

constexpr double prior_covariance(std::size_t i, std::size_t j) {
  const double alone = i == j ? kFactorDeviations[i] * kFactorDeviations[i] : 0;
  return alone + (i < kCommonFactors && j < kCommonFactors ? kCommonDeviation * kCommonDeviation : 0);
}

}  // namespace foretrain
