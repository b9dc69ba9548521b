#include "cost/scaled_cost.h"

#include <cmath>
#include <utility>

namespace foretrain {

ScaledCost::ScaledCost(std::shared_ptr<const CostSource> source, const ClusterFactors& factors)
    : source_(std::move(source)),
      products_(std::exp(of(factors, ClusterFactor::kMatrixProducts))),
      memory_bound_(std::exp(of(factors, ClusterFactor::kMemoryBound))),
      host_(std::exp(of(factors, ClusterFactor::kHost))) {}

OperatorCost ScaledCost::cost(const Operator& op) const {
  OperatorCost cost = source_->cost(op);
  cost.gpu *= is_product(op.kind) ? products_ : memory_bound_;
  cost.host *= host_;
  return cost;
}

}  // namespace foretrain
