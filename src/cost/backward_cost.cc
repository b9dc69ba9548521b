// Backwards of which a profile (profile_cost.h) has no samples of their own: from the whole that they are part of, the forward,
// the products that they are made of, or as the parent's take longer than its forwards.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "cost/profile_cost.h"
#include "cost/transfer.h"
#include "operators/attention.h"
#include "operators/description.h"
#include "operators/padded_product.h"
#include "operators/product.h"

namespace foretrain {

std::optional<OperatorCost> ProfileCost::part_of_backward(const Operator& op) const {
  if (op.pass != PassKind::kInput && op.pass != PassKind::kWeight) return std::nullopt;
  Operator whole = op;
  whole.pass = PassKind::kBackward;
  auto cost = own(whole);
  if (!cost) return std::nullopt;
  return derived(*cost, analytic_.cost(op).gpu / analytic_.cost(whole).gpu, kSplitSpread);
}

std::optional<OperatorCost> ProfileCost::backward_of_forward(const Operator& op) const {
  if (op.pass != PassKind::kBackward || is_product(op.kind)) return std::nullopt;
  Operator forward = op;
  forward.pass = PassKind::kForward;
  const auto cost = own(forward);
  if (!cost || bytes(forward).value <= 0) return std::nullopt;
  return derived(*cost, bytes(op) / bytes(forward), kTransferSpread);
}

std::optional<OperatorCost> ProfileCost::backward_of_products(const Operator& op) const {
  const bool grouped = op.kind == OperatorKind::kGroupedProduct;
  if ((op.kind != OperatorKind::kLinear && !grouped) || op.pass == PassKind::kForward) return std::nullopt;
  // Where both products were sampled themselves.
  if (op.pass == PassKind::kBackward) {
    Operator part = op;
    part.launches = grouped ? std::max(op.launches / 2, 1) : 1;
    part.pass = PassKind::kInput;
    const auto to_input = own(part);
    part.pass = PassKind::kWeight;
    const auto to_weight = own(part);
    if (to_input && to_weight) return sum_of(*to_input, *to_weight);
  }
  if (grouped) return std::nullopt;
  // As forwards of other products its rows would lie along other sides.
  if (const Operator aligned = with_aligned_rows(op); aligned != op) {
    const auto cost = backward_of_products(aligned);
    if (!cost) return std::nullopt;
    return extrapolated(*cost, std::max(1.0, analytic_.cost(op).gpu / analytic_.cost(aligned).gpu));
  }
  const auto [m, k, n] = op.as<LinearSizes>();
  // A product or its transpose: the longer side goes where samples have their tokens.
  const auto product = [&](PassKind pass, std::int64_t rows, std::int64_t depth, std::int64_t columns) {
    Operator forward = op;
    forward.pass = PassKind::kForward;
    forward.launches = 1;
    forward.set(LinearSizes{.m = std::max(rows, columns), .k = depth, .n = std::min(rows, columns)});
    Operator backward = op;
    backward.pass = pass;
    backward.launches = 1;
    return as_parent_has_it(backward, forward);
  };
  const auto input = product(PassKind::kInput, m, n, k), weight = product(PassKind::kWeight, k, m, n);
  if (!input || !weight) return std::nullopt;
  const OperatorCost cost = op.pass == PassKind::kWeight  ? *weight
                            : op.pass == PassKind::kInput ? *input
                                                          : sum_of(*input, *weight);
  return derived(cost, 1, kSplitSpread);
}

std::optional<OperatorCost> ProfileCost::as_parent_has_it(const Operator& op, const Operator& forward) const {
  const auto here = own(forward);
  // A part that cannot multiply such operands has no ratio to give.
  if (!here || parent_ == nullptr || parent_->gpu_.rate(op.dtype).value <= 0) return here;
  const auto there = parent_->fitted(op), forward_there = parent_->fitted(forward);
  if (!there || !forward_there) return here;
  OperatorCost cost = derived(*here, there->gpu / forward_there->gpu, kSplitSpread);
  cost.clocked_share = there->clocked_share;
  return cost;
}

std::optional<OperatorCost> ProfileCost::backward_of_attention(const Operator& op) const {
  if (op.pass != PassKind::kBackward || !is_attention(op.kind) || parent_ == nullptr ||
      parent_->gpu_.rate(op.dtype).value <= 0)
    return std::nullopt;
  Operator forward = op;
  forward.pass = PassKind::kForward;
  forward.launches = usual_launches(forward);
  if (!own(forward) || !parent_->fitted(op) || !parent_->fitted(forward)) return std::nullopt;
  return as_parent_has_it(op, forward);
}

}  // namespace foretrain
