// Operator costs from a profile, with physics where it has no model. In this order:
//   the operator's own model (bf16 and fp16 run the same kernels and share one)
//   a product's backward to input or weight from the model of both at once, split as the physics splits it
//   a product's backward from the model of forwards: dx = dy w^T and dw = x^T dy are products like any other
//   causal attention from a model of the whole square, by the blocks on and below the diagonal
//   an implementation without samples from its nearest relative (RMSNorm by library kernels from RMSNorm with
//   an fp32 scale, fused RMSNorm from LayerNorm, ...) by the ratio of their analytic times
//   `sdpa` attention from `flash` on parts without a faster kernel (before Hopper)
//   the profile that this one derives from, times the ratio of the analytic times on the two GPUs
//   a pointwise backward from the model of its forward, by the bytes that each moves
//   the analytic cost
// All but the first are marked derived (the last analytic) and widen the spread.
#pragma once

#include <memory>
#include <optional>

#include "cost/analytic.h"
#include "cost/profile.h"

namespace foretrain {

class ProfileCost final : public CostSource {
 public:
  // `parent` prices operators that this profile lacks, on its own GPU; null: none.
  ProfileCost(ModelFile models, const Cluster& cluster, std::shared_ptr<const ProfileCost> parent = nullptr);

  OperatorCost cost(const Operator& op) const override;

 private:
  std::optional<OperatorCost> fitted(const Operator& op) const;
  std::optional<OperatorCost> own(const Operator& op) const;
  std::optional<OperatorCost> part_of_backward(const Operator& op) const;
  std::optional<OperatorCost> backward_of_products(const Operator& op) const;
  std::optional<OperatorCost> of_relative(const Operator& op) const;
  std::optional<OperatorCost> backward_of_forward(const Operator& op) const;
  OperatorCost causal(const OperatorModelView& squares, const Operator& op) const;

  ModelFile models_;
  Gpu gpu_;
  AnalyticCost analytic_;
  std::shared_ptr<const ProfileCost> parent_;
};

}  // namespace foretrain
