#include "cost/profile_cost.h"

#include <algorithm>
#include <cmath>

#include "cost/formats.h"
#include "cost/padded_heads.h"
#include "cost/transfer.h"
#include "operators/attention.h"
#include "operators/description.h"
#include "operators/padded_product.h"
#include "operators/product.h"
#include "operators/quantise.h"

namespace foretrain {
namespace {

// Relative deviations that steps away from a sample add besides (transfer.h).
constexpr double kCausalSpread = 0.08;
// Of a cast from one that finds other scales or makes fewer copies, by their bytes: as unsure as physics, for compiled
// ones of our H200 differ by 1.8 to 3.8 times where their bytes differ by a third.
constexpr double kOtherCastSpread = 0.25;

// Whether it saw attention that skips what lies above the diagonal.
bool samples_causal(const OperatorModelView& attention) {
  return attention.facts.size_high[kCausalSize] != 0;
}

// mma.sync kernels are the best there are up to Ampere: later parts state fp8 rates.
bool before_hopper(const Gpu& gpu) { return gpu.rate(Dtype::kFp8).value == 0; }

}  // namespace

ProfileCost::ProfileCost(ModelFile models, const Cluster& cluster, std::shared_ptr<const ProfileCost> parent,
                         std::optional<PowerModel> power, std::optional<Seconds> host_launch)
    : models_(std::move(models)),
      gpu_(cluster.gpu),
      analytic_(cluster),
      at_parents_efficiency_(cluster),
      host_scale_(host_launch ? cluster.host_launch / *host_launch : 1),
      parent_(std::move(parent)),
      power_(power) {
  if (!power_ && parent_ != nullptr && models_.models().empty()) power_ = parent_->power_;
  if (!power_ || parent_ == nullptr) return;
  Cluster same = cluster;
  same.gpu.product_efficiency = parent_->gpu_.product_efficiency;
  at_parents_efficiency_ = AnalyticCost(same);
}

const OperatorModelView* ProfileCost::model_of(const Operator& op) const {
  const auto pooled = [](const OperatorModelView* model) {
    return model != nullptr && model->facts.pooled ? model : nullptr;
  };
  ModelKey key = key_of(op);
  for (const Dtype dtype : {op.dtype, Dtype::kBf16, Dtype::kFp16}) {
    if (dtype != op.dtype && !is_half(op.dtype)) break;
    key.dtype = dtype;
    if (const OperatorModelView* model = models_.find(key)) return model;
    if (!is_pooled(key)) continue;
    if (const OperatorModelView* model = pooled(models_.find(pooled_key(key)))) return model;
  }
  return nullptr;
}

std::optional<OperatorCost> ProfileCost::own(const Operator& op) const {
  if (has_span(op)) {
    const WholeSequences whole = whole_sequences(op);
    auto cost = own(whole.op);
    if (cost) cost->gpu *= whole.share;
    return cost;
  }
  const OperatorModelView* model = model_of(op);
  if (model == nullptr) return std::nullopt;
  if (const Operator aligned = with_aligned_rows(op); aligned != op && !knows_rows(*model, op, aligned, gpu_))
    return from_aligned(op, aligned);
  if (op.kind == OperatorKind::kQuantise &&
      static_cast<double>(op.as<QuantiseSizes>().copies) > model->facts.size_high[kCopiesSize])
    return of_one_copy(*model, op);
  if (op.kind != OperatorKind::kAttention || op.as<AttentionSizes>().causal == 0)
    return evaluate(*model, op, gpu_);
  return samples_causal(*model) ? evaluate(*model, op, gpu_) : causal(*model, op);
}

std::optional<OperatorCost> ProfileCost::from_aligned(const Operator& op, const Operator& aligned) const {
  if (!is_attention(op.kind)) {
    const auto cost = own(aligned);
    if (!cost) return std::nullopt;
    return extrapolated(*cost, std::max(1.0, analytic_.cost(op).gpu / analytic_.cost(aligned).gpu));
  }
  Operator flash = aligned;
  flash.impl = Impl::kFlash;
  auto cost = fitted(flash);
  if (!cost) cost = own(aligned);
  if (!cost) return std::nullopt;
  cost->gpu += this->cost(padding_copy(op)).gpu * padding_copies(op);
  return extrapolated(*cost, 1);
}

OperatorCost ProfileCost::of_one_copy(const OperatorModelView& model, const Operator& op) const {
  const Operator one = with_one_copy(op);
  return derived(evaluate(model, one, gpu_), analytic_.cost(op).gpu / analytic_.cost(one).gpu,
                 kOtherCastSpread);
}

OperatorCost ProfileCost::causal(const OperatorModelView& squares, const Operator& op) const {
  AttentionSizes sizes = op.as<AttentionSizes>();
  sizes.causal = 0;
  Operator square = op;
  square.set(sizes);
  // Of n x n blocks of 128 queries and keys, n (n + 1) / 2 lie on or below the diagonal. Launch and memory
  // cost what they did: only what halves with the work in the base is compute.
  const double n = std::ceil(static_cast<double>(sizes.seq) / 128);
  const double whole = base_seconds(squares.coefficients, physical_terms(square, gpu_));
  const double compute = 2 * (whole - base_seconds(squares.coefficients, physical_terms(op, gpu_)));
  const double left = whole - compute * (1 - (n + 1) / (2 * n));
  return derived(evaluate(squares, square, gpu_), left / whole, kCausalSpread);
}

std::optional<OperatorCost> ProfileCost::of_relative(const Operator& op) const {
  for (const Relative& r : description(op.kind).relatives) {
    if (impl_of(op) != r.impl) continue;
    Operator relative = op;
    relative.kind = r.of_kind;
    relative.impl = r.of_impl;
    if (r.set_sizes != nullptr) r.set_sizes(op, relative);
    if (const auto cost = own(relative))
      return derived(*cost, analytic_.cost(op).gpu / analytic_.cost(relative).gpu, kTransferSpread);
  }
  return std::nullopt;
}

std::optional<OperatorCost> ProfileCost::of_linears(const Operator& op) const {
  if (op.kind != OperatorKind::kGroupedProduct) return std::nullopt;
  const auto [experts, m, k, n] = op.as<GroupedSizes>();
  const bool loop = op.impl == Impl::kEager;
  if (op.pass == PassKind::kBackward) {  // its two products, whose ratios to linears differ
    Operator part = op;
    part.launches = std::max(op.launches / 2, 1);
    part.pass = PassKind::kInput;
    const auto to_input = of_linears(part);
    part.pass = PassKind::kWeight;
    const auto to_weight = of_linears(part);
    if (to_input && to_weight) return sum_of(*to_input, *to_weight);
  }
  Operator linear = op;
  linear.kind = OperatorKind::kLinear;
  linear.impl = Impl::kAten;
  const std::int64_t rows = loop ? std::max<std::int64_t>((m + experts / 2) / experts, 1) : m;
  linear.set(LinearSizes{.m = rows, .k = k, .n = n});
  linear.launches = usual_launches(linear);
  auto cost = fitted(linear);
  if (!cost) return std::nullopt;
  // One kernel takes what the parent has between the two, where it was sampled there.
  if (!loop && parent_ != nullptr && parent_->gpu_.rate(op.dtype).value > 0)
    if (const auto there = parent_->own(op), product = parent_->own(linear); there && product)
      return derived(*cost, there->gpu / product->gpu, kTransferSpread);
  if (!loop) return derived(*cost, analytic_.cost(op).gpu / analytic_.cost(linear).gpu, kTransferSpread);
  cost->host *= static_cast<double>(experts);
  return derived(*cost, static_cast<double>(experts), kSplitSpread);
}

std::optional<OperatorCost> ProfileCost::of_own_format(const Operator& op) const {
  if (auto cost = own(op)) return cost;
  if (auto cost = part_of_backward(op)) return cost;
  if (auto cost = backward_of_products(op)) return cost;
  if (auto cost = backward_of_attention(op)) return cost;
  return of_relative(op);
}

std::optional<OperatorCost> ProfileCost::of_formats(const Operator& op) const {
  for (const auto& [dtype, spread] : format_relatives(op.dtype)) {
    if (is_product(op.kind) && gpu_.rate(dtype).value <= 0) continue;
    Operator relative = op;
    relative.dtype = dtype;
    if (const auto cost = of_own_format(relative))
      return derived(*cost, analytic_.cost(op).gpu / analytic_.cost(relative).gpu,
                     is_of_formats(op.kind) ? kOtherCastSpread : spread);
  }
  return of_grouped_bf16(op);
}

std::optional<OperatorCost> ProfileCost::of_grouped_bf16(const Operator& op) const {
  if (op.kind != OperatorKind::kGroupedProduct || !is_scaled(op.dtype) || is_eager(op)) return std::nullopt;
  Operator wide = op;
  wide.dtype = Dtype::kBf16;
  const auto grouped = of_own_format(wide);
  const auto [experts, m, k, n] = op.as<GroupedSizes>();
  Operator linear = op;
  linear.kind = OperatorKind::kLinear;
  linear.impl = Impl::kAten;
  linear.set(LinearSizes{.m = m, .k = k, .n = n});
  linear.launches = usual_launches(linear);
  const auto narrow_linear = fitted(linear);
  linear.dtype = Dtype::kBf16;
  const auto wide_linear = of_own_format(linear);
  if (!grouped || !narrow_linear || !wide_linear) return std::nullopt;
  OperatorCost cost = derived(*grouped, narrow_linear->gpu / wide_linear->gpu, kTransferSpread);
  cost.energy = narrow_linear->energy;
  return cost;
}

std::optional<OperatorCost> ProfileCost::of_bf16(const Operator& op) const {
  if (!is_product(op.kind) || !is_scaled(op.dtype)) return std::nullopt;
  Operator wide = op;
  wide.dtype = Dtype::kBf16;
  const auto cost = fitted(wide);
  if (!cost) return std::nullopt;
  return derived(*cost, analytic_.cost(op).gpu / analytic_.cost(wide).gpu, kFromBf16Spread);
}

Operator ProfileCost::as_parent_can(const Operator& op) const {
  Operator there = op;
  if (is_product(op.kind) && parent_->gpu_.rate(op.dtype).value <= 0)
    there.dtype = parent_->gpu_.rate(Dtype::kFp8).value > 0 ? Dtype::kFp8 : Dtype::kBf16;
  return there;
}

std::optional<OperatorCost> ProfileCost::of_own_bf16(const Operator& op) const {
  if (parent_ == nullptr || !is_product(op.kind) || !is_scaled(op.dtype)) return std::nullopt;
  Operator wide = op;
  wide.dtype = Dtype::kBf16;
  const Operator can = as_parent_can(op);
  const auto here = fitted(wide);
  if (!here || !is_scaled(can.dtype)) return std::nullopt;
  const auto narrow = parent_->fitted(can), wide_there = parent_->fitted(wide);
  if (!narrow || !wide_there) return std::nullopt;
  const double format = can.dtype == op.dtype ? 1 : analytic_.cost(op).gpu / analytic_.cost(can).gpu;
  OperatorCost cost = derived(*here, format * (narrow->gpu / wide_there->gpu),
                              can.dtype == op.dtype ? kTransferSpread : kFromBf16Spread);
  cost.clocked_share = narrow->clocked_share;
  cost.energy = narrow->energy;
  return cost;
}

std::optional<OperatorCost> ProfileCost::of_parent(const Operator& op) const {
  if (parent_ == nullptr) return std::nullopt;
  const Operator there = as_parent_can(op);
  const double added =
      there.dtype == op.dtype ? kTransferSpread : std::hypot(kTransferSpread, kFromBf16Spread);
  const OperatorCost cost = parent_->cost(there);
  if (cost.origin == Origin::kAnalytic) return std::nullopt;
  OperatorCost found =
      derived(cost, at_parents_efficiency_.cost(op).gpu / parent_->analytic_.cost(there).gpu, added);
  found.host = Seconds(0);  // another GPU stands in another machine, whose host the cluster knows
  return found;
}

std::optional<OperatorCost> ProfileCost::fitted(const Operator& op) const {
  if (auto cost = of_own_format(op)) return cost;
  if (auto cost = of_formats(op)) return cost;
  return of_linears(op);
}

OperatorCost ProfileCost::cost(const Operator& op) const {
  if (const Impl kernel = attention_kernel(op.impl, gpu_); is_attention(op.kind) && kernel != op.impl) {
    Operator same = op;
    same.impl = kernel;
    // cuDNN's kernels are what samples of sdpa ran; FlashAttention 3 has none of its own.
    return op.impl == Impl::kFlash3 ? derived(cost(same), 1, kTransferSpread) : cost(same);
  }
  if (const Operator padded = with_padded_sides(op); padded != op) {
    OperatorCost whole = cost(padded);
    for (const Operator& copy : padding_of(op, padded)) {
      whole.gpu += cost(copy).gpu;
      whole.host += cost(copy).host;
    }
    return whole.origin == Origin::kAnalytic ? whole : extrapolated(whole, 1);
  }
  OperatorCost physics = analytic_.cost(op);
  std::optional<OperatorCost> found = fitted(op);
  if (!found && op.kind == OperatorKind::kAttention && op.impl == Impl::kSdpa && before_hopper(gpu_)) {
    Operator flash = op;
    flash.impl = Impl::kFlash;
    found = fitted(flash);
  }
  if (!found) found = of_own_bf16(op);
  if (!found) found = of_parent(op);
  if (!found) found = of_bf16(op);
  if (!found) found = backward_of_forward(op);
  if (found) {
    physics.gpu = found->gpu;
    if (found->host > Seconds(0)) physics.host = found->host * host_scale_;
    // What is derived is at least as sure as physics, which stands beside it.
    physics.spread =
        found->origin == Origin::kDerived ? std::min(found->spread, physics.spread) : found->spread;
    physics.origin = found->origin;
  }
  if (power_) {
    // Physics' own efficiencies stand for steady load: no clock is applied to them.
    physics.clocked_share = found ? found->clocked_share : 0;
    const double energy = found ? found->energy : 1;
    const double drawn = drawn_share(physics.gpu / static_cast<double>(std::max(op.launches, 1)));
    physics.clocked_watts =
        drawn * flops(op).value * joules_per_flop(*power_, op.dtype) * energy / physics.gpu.value;
    physics.watts = power_->static_w + bytes(op).value * power_->joules_per_byte / physics.gpu.value +
                    physics.clocked_watts;
  }
  return physics;
}

}  // namespace foretrain
