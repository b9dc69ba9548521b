// Operators that take longer or shorter than another source says, by the factors of a cluster (spec/cluster_factors.h):
// products and attention by one, all others by another, the host's work by a third. It stands below the memo of an
// evaluator, so that each shape is multiplied once, and a remembered cost costs what it did.
//
// Power stays as it is: a kernel that is slower for its tiles or its clock draws for longer.
#pragma once

#include <memory>

#include "cost/cost.h"
#include "spec/cluster_factors.h"

namespace foretrain {

class ScaledCost final : public CostSource {
 public:
  // `source` is that of the cluster before it was scaled.
  ScaledCost(std::shared_ptr<const CostSource> source, const ClusterFactors& factors);

  OperatorCost cost(const Operator& op) const override;
  const PowerModel* power() const override { return source_->power(); }

 private:
  std::shared_ptr<const CostSource> source_;
  double products_, memory_bound_, host_;
};

}  // namespace foretrain
