// How far factors are likely to be off before anything is measured: deviations of their logarithms, in proportion to each
// other, and what the first three have in common.
//
//   products 0.03, memory_bound 0.05   what the same kernels differ by between cards of one kind and clocks: products of three
//                                      H200s within 3 %, streams within 5 (docs/accuracy.md)
//   host 0.25                          machines differ by 21 % in the mean (predict/uncertainty.h)
//   bandwidths 0.15, 0.30              shares of links that collectives reach: 0.7 to 0.9 inside a node, and what fabrics that
//                                      nobody measured reach of their rate, half to all of it
//   latencies 0.30, 0.60               NCCL's steps against NCCL's own table, by a third inside and by half between nodes
//   common 0.15                        frameworks that are slower in everything (predict/uncertainty.h: 10 to 15 % in the mean)
#pragma once

#include "spec/cluster_factors.h"

namespace foretrain {

inline constexpr ClusterFactors kFactorDeviations = {0.03, 0.05, 0.25, 0.15, 0.30, 0.30, 0.60};
inline constexpr double kCommonDeviation = 0.15;
inline constexpr std::size_t kCommonFactors = 3;  // the first of them

constexpr double prior_covariance(std::size_t i, std::size_t j) {
  const double alone = i == j ? kFactorDeviations[i] * kFactorDeviations[i] : 0;
  return alone + (i < kCommonFactors && j < kCommonFactors ? kCommonDeviation * kCommonDeviation : 0);
}

}  // namespace foretrain
