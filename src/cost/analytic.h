// Operator times from datasheet figures and a few stated efficiencies: the fallback where nothing was
// sampled.
//
//   time = max(compute, memory) + launches * kKernelGap
//
// memory:  bytes / (hbm * memory_efficiency * share), where `share` is what a kind of kernel reaches of a
//          long stream (norms and softmax pass rows through reductions, gathers are scattered). Kernels that
//          load one element at a time take elements / (1.5 * SMs * clock) where that is longer.
// compute: a product's tiles in waves over the SMs (operators/tiling.h), at the GPU's product efficiency.
// Shares and compute times of each operator stand in its family (operators/description.h).
//
// Example: 8192 x 4096 x 4096 on an H200 (132 SMs): 64 * 16 = 1024 tiles, 7.76 waves, so 8; the last wave's
// idle SMs cost 3 %.
#pragma once

#include "cost/cost.h"
#include "spec/cluster.h"

namespace foretrain {

class AnalyticCost final : public CostSource {
 public:
  explicit AnalyticCost(const Cluster& cluster) : gpu_(cluster.gpu), host_launch_(cluster.host_launch) {}

  OperatorCost cost(const Operator& op) const override;

 private:
  Seconds compute_time(const Operator& op) const;
  Seconds memory_time(const Operator& op) const;

  Gpu gpu_;
  Seconds host_launch_;
};

}  // namespace foretrain
