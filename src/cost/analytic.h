// Operator times from datasheet figures and a few stated efficiencies: the fallback where nothing was
// sampled.
//
//   time = max(compute, memory) + launches * kKernelGap
//
// memory:  bytes / (hbm * memory_efficiency * share), where `share` is what a kind of kernel reaches of a
//          long stream (norms and softmax pass rows through reductions, gathers are scattered). Kernels that
//          load one element at a time take elements / (1.5 * SMs * clock) where that is longer.
// compute: a product is cut into tiles that the SMs work off in waves; a last wave that is not full costs as
//          much as a full one. With tiles of 128x256, w waves and e the GPU's product efficiency
//            compute = w * sms * 2 * 128 * 256 * (k + kPrologue) / (rate * e)
//          The best of five tile shapes is taken, as a library's heuristic would (smaller tiles reuse less).
//          Less than a wave of tiles is spread over idle SMs where k is long enough to be split.
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
  Seconds product_time(double batch, double m, double k, double n, Dtype dtype) const;

  Gpu gpu_;
  Seconds host_launch_;
};

}  // namespace foretrain
