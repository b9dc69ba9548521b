// Operator costs from a profile, with physics where it has no model. In this order:
//   - the operator's own model (bf16 and fp16 run the same kernels and share one; passes of a linear, or of a
//     grouped product, may share a pooled one)
//   - a product's backward to input or weight from the model of both at once, split as the physics splits it
//   - a product's backward from the model of forwards: dx = dy w^T and dw = x^T dy are products like any
//     other, times what the profile that this one derives from has between the two
//   - attention's backward from its forward, by the ratio that the profile that this one derives from has between them
//   - a cast that makes a transposed copy, too, from a model of one copy, by the ratio of their analytic times
//   - causal attention from a model of the whole square, by the blocks on and below the diagonal
//   - products whose rows are no multiple of 16 bytes, where no sample has such, from the same with rows padded to
//     it, by the ratio of their analytic times; attention with such heads from FlashAttention 2 with padded ones
//     and the copies that pad them. Both are called extrapolated
//   - products in fewer bits with sides that libraries do not multiply from the same with sides padded, and the copies that
//     pad and cut them; called extrapolated
//   - an implementation without samples from its nearest relative (RMSNorm by library kernels from RMSNorm
//     with an fp32 scale, fused RMSNorm from LayerNorm, ...) by the ratio of their analytic times
//   - a scaled format without samples from its nearest relative (cost/formats.h) by the ratio of their analytic times; a
//     grouped product of one from that of bf16, by what their linears take
//   - a grouped product from linears: a loop from that of one expert's rows, one kernel from that of all rows
//     by the ratio of their analytic times
//   - attention by `cudnn`, `flash3` and `flash-first` as the kernel that they come to on the GPU (attention.h)
//   - `sdpa` attention from `flash` on parts without a faster kernel (before Hopper)
//   - a scaled format's product from the own one of bf16, by what the profile that this one derives from has between
//     the two
//   - the profile that this one derives from, times the ratio of the analytic times on the two GPUs; where a
//     governor knows what power does, at one efficiency of products for both, since the difference is its own. A format that the
//     other GPU lacks is carried over from the widest of its scaled ones, or from bf16
//   - a product of a scaled format from that of bf16, by the ratio of their analytic times
//   - a pointwise backward from the model of its forward, by the bytes that each moves
//   - the analytic cost
// All others but the first are marked derived (the last analytic), and all but the first widen the spread: what is
// analytic is never surer than what is derived, and that never surer than the samples it comes from (origins_test.cc).
#pragma once

#include <memory>
#include <optional>

#include "cost/analytic.h"
#include "cost/profile.h"

namespace foretrain {

class ProfileCost final : public CostSource {
 public:
  // `host_launch`: of the machine that was sampled (ProfileInfo). `parent` prices operators that this profile lacks, on its own GPU; null: none. Without `power` the
  // parent's stands: that of the same chip.
  ProfileCost(ModelFile models, const Cluster& cluster, std::shared_ptr<const ProfileCost> parent = nullptr,
              std::optional<PowerModel> power = std::nullopt,
              std::optional<Seconds> host_launch = std::nullopt);

  OperatorCost cost(const Operator& op) const override;
  const PowerModel* power() const override { return power_ ? &*power_ : nullptr; }
  std::size_t model_bytes() const { return models_.bytes() + (parent_ ? parent_->model_bytes() : 0); }

 private:
  std::optional<OperatorCost> fitted(const Operator& op) const;
  std::optional<OperatorCost> of_own_format(const Operator& op) const;
  std::optional<OperatorCost> own(const Operator& op) const;
  std::optional<OperatorCost> from_aligned(const Operator& op, const Operator& aligned) const;
  const OperatorModelView* model_of(const Operator& op) const;
  std::optional<OperatorCost> part_of_backward(const Operator& op) const;
  std::optional<OperatorCost> backward_of_products(const Operator& op) const;
  // An operator from the model of another, a forward, by the parent's ratio of the two where it has both.
  std::optional<OperatorCost> as_parent_has_it(const Operator& op, const Operator& forward) const;
  std::optional<OperatorCost> backward_of_attention(const Operator& op) const;
  std::optional<OperatorCost> of_relative(const Operator& op) const;
  std::optional<OperatorCost> of_linears(const Operator& op) const;
  std::optional<OperatorCost> of_formats(const Operator& op) const;
  std::optional<OperatorCost> of_grouped_bf16(const Operator& op) const;
  std::optional<OperatorCost> of_bf16(const Operator& op) const;
  std::optional<OperatorCost> of_own_bf16(const Operator& op) const;
  std::optional<OperatorCost> of_parent(const Operator& op) const;
  // The same in a format that the parent's GPU multiplies.
  Operator as_parent_can(const Operator& op) const;
  std::optional<OperatorCost> backward_of_forward(const Operator& op) const;
  OperatorCost of_one_copy(const OperatorModelView& model, const Operator& op) const;
  OperatorCost causal(const OperatorModelView& squares, const Operator& op) const;

  ModelFile models_;
  Gpu gpu_;
  AnalyticCost analytic_;
  AnalyticCost at_parents_efficiency_;  // with which the parent's times are carried over
  double host_scale_ = 1;               // the cluster's host over that of the machine that was sampled
  std::shared_ptr<const ProfileCost> parent_;
  std::optional<PowerModel> power_;
};

}  // namespace foretrain
