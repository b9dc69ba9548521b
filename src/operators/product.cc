// What products count: FLOPs, bytes, launches, what they make and need. Their time is in product_time.cc.
#include "operators/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operators/description.h"
#include "operators/product_time.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMaxExperts = 100'000;  // of one GPU; a loop launches a kernel for each

bool is_whole_backward(const Operator& op) { return op.pass == PassKind::kBackward; }

int product_row_loads(const Operator& op) {
  const LinearSizes product = sides(op);
  return std::min(row_loads(product.k), row_loads(product.n));
}

void align_product(Operator& op) {
  FlatSizes sizes = op.flat();
  const std::size_t k = op.kind == OperatorKind::kLinear ? 1 : 2;
  sizes[k] = aligned_row(sizes[k]);
  sizes[k + 1] = aligned_row(sizes[k + 1]);
  op.set_flat(sizes);
}

Flops linear_flops(const Operator& op) {
  const auto [m, k, n] = real_sizes<3>(op);
  return Flops((is_whole_backward(op) ? 4 : 2) * m * k * n);
}

Flops batched_flops(const Operator& op) {  // the backward makes the gradients of both operands
  const auto [batch, m, k, n] = real_sizes<4>(op);
  return Flops((is_forward(op) ? 2 : 4) * batch * m * k * n);
}

Flops grouped_flops(const Operator& op) {
  const auto [experts, m, k, n] = real_sizes<4>(op);
  return Flops((is_whole_backward(op) ? 4 : 2) * m * k * n);
}

double kept_by_mask(const Operator&) { return 0.5; }

// What the pass makes, of the product's input, output and weight: it leaves wider than scaled operands came.
double made_of(const Operator& op, double in, double out, double weight) {
  if (op.pass == PassKind::kForward) return out;
  if (op.pass == PassKind::kInput) return in;
  return op.pass == PassKind::kWeight ? weight : in + weight;
}

// Operands and result of each product once, of `in`, `out` and `weight` elements.
Bytes product_bytes(const Operator& op, double in, double out, double weight) {
  const double a = bytes_of(op.dtype), wider = product_bytes_of(op.dtype) - a;
  return Bytes((is_whole_backward(op) ? 2 : 1) * a * (in + out + weight) +
               wider * made_of(op, in, out, weight));
}

Bytes linear_bytes(const Operator& op) {
  const auto [m, k, n] = real_sizes<3>(op);
  return product_bytes(op, m * k, m * n, k * n);
}

Bytes batched_bytes(const Operator& op) {
  const auto [batch, m, k, n] = real_sizes<4>(op);
  return Bytes((is_forward(op) ? 1 : 2) * bytes_of(op.dtype) * batch * (m * k + k * n + m * n));
}

Bytes grouped_bytes(const Operator& op) {
  const auto [experts, m, k, n] = real_sizes<4>(op);
  // Fewer rows than experts cannot reach all of these.
  return product_bytes(op, m * k, m * n, std::min(experts, m) * k * n);
}

// Operands once each, however many products share them.
double least_bytes_of_operands(const Operator& op) {
  Operator forward = op;
  forward.pass = PassKind::kForward;
  return is_scaled(op.dtype) && !is_whole_backward(op) ? bytes(op).value : bytes(forward).value;
}

double least_bytes_of_groups(const Operator& op) {  // of the experts' weights those that get a row
  const auto [experts, m, k, n] = real_sizes<4>(op);
  const double idle = std::exp(-m / experts);
  const double weight = (1 - idle) * experts * k * n;
  return bytes_of(op.dtype) * (m * (k + n) + weight) +
         (product_bytes_of(op.dtype) - bytes_of(op.dtype)) *
             (is_whole_backward(op) ? 0 : made_of(op, m * k, m * n, weight));
}

std::int32_t product_launches(const Operator& op) { return is_whole_backward(op) ? 2 : 1; }

// As PyTorch 2.11's profiler counts them on an H200; the fused one is assumed. A loop takes a kernel an
// expert; before one kernel for all there is one that finds where experts begin.
std::int32_t grouped_launches(const Operator& op) {
  const std::int64_t one = op.impl == Impl::kEager  ? op.as<GroupedSizes>().experts
                           : op.impl == Impl::kAten ? 2
                                                    : 1;
  return static_cast<std::int32_t>(product_launches(op) * one);
}

Result<void> check_experts(const Operator& op, const Position& at) {
  const std::int64_t experts = op.as<GroupedSizes>().experts;
  if (experts <= kMaxExperts) return {};
  return fail(fmt::format("found experts={}, expected at most {}", experts, kMaxExperts), at);
}

Bytes linear_made(const Operator& op) {
  const auto [m, k, n] = real_sizes<3>(op);
  return Bytes(product_bytes_of(op.dtype) * m * n);
}

Bytes batched_made(const Operator& op) {
  const auto [batch, m, k, n] = real_sizes<4>(op);
  return Bytes(product_bytes_of(op.dtype) * batch * m * n);
}

Bytes grouped_made(const Operator& op) {
  const auto [experts, m, k, n] = real_sizes<4>(op);
  return Bytes(product_bytes_of(op.dtype) * m * n);
}

Bytes weighted_working(const Operator& op, double in, double out, double weight) {
  const double a = product_bytes_of(op.dtype);
  if (op.pass == PassKind::kWeight) return Bytes(a * (out + weight));
  return Bytes(a * (is_forward(op) ? out : in + out));
}

Bytes linear_working(const Operator& op) {
  const auto [m, k, n] = real_sizes<3>(op);
  return weighted_working(op, m * k, m * n, k * n);
}

Bytes batched_working(const Operator& op) {
  const auto [batch, m, k, n] = real_sizes<4>(op);
  const double out = m * n, in = m * k + k * n;
  return Bytes(bytes_of(op.dtype) * batch * (is_forward(op) ? out : in + out));
}

Bytes grouped_working(const Operator& op) {
  // PyTorch makes both gradients in one node: that of the rows is there beside the weights'.
  const auto [experts, m, k, n] = real_sizes<4>(op);
  return weighted_working(op, m * k, m * n, experts * k * n + (op.pass == PassKind::kWeight ? m * k : 0));
}

// How far physics is off on a chip that nobody sampled: a B200's products under steady load, whose share of the peak was
// guessed as Hopper's, took 1.36 times as long.
constexpr double kUnsampled = 0.3;

constexpr Relative kOfGrouped[] = {{Impl::kFused, OperatorKind::kGroupedProduct, Impl::kAten}};

constinit const Description kTable[] = {
    {.kind = OperatorKind::kLinear,
     .size_names = LinearSizes::kNames,
     .usual_impl = Impl::kAten,
     .has_weight = true,
     .flops = linear_flops,
     .bytes = linear_bytes,
     .usual_launches = product_launches,
     .row_loads = product_row_loads,
     .align_rows = align_product,
     .least_bytes = least_bytes_of_operands,
     .made_bytes = linear_made,
     .working_bytes = linear_working,
     .add_terms = add_product_terms,
     .add_features = add_product_features,
     .pools_passes = true,
     .compute_time = product_time,
     .analytic_spread = kUnsampled},
    {.kind = OperatorKind::kBatchedProduct,
     .size_names = BatchedSizes::kNames,
     .usual_impl = Impl::kAten,
     .flops = batched_flops,
     .useful_share = kept_by_mask,
     .bytes = batched_bytes,
     .usual_launches = product_launches,
     .row_loads = product_row_loads,
     .align_rows = align_product,
     .least_bytes = least_bytes_of_operands,
     .made_bytes = batched_made,
     .working_bytes = batched_working,
     .add_terms = add_product_terms,
     .add_features = add_product_features,
     .compute_time = product_time,
     .stream_share = 0.75,
     .analytic_spread = kUnsampled},  // scores of many small products
    {.kind = OperatorKind::kGroupedProduct,
     .size_names = GroupedSizes::kNames,
     .usual_impl = Impl::kAten,
     .has_weight = true,
     .check_sizes = check_experts,
     .flops = grouped_flops,
     .bytes = grouped_bytes,
     .usual_launches = grouped_launches,
     .row_loads = product_row_loads,
     .align_rows = align_product,
     .least_bytes = least_bytes_of_groups,
     .made_bytes = grouped_made,
     .working_bytes = grouped_working,
     .add_terms = add_product_terms,
     .add_features = add_product_features,
     .pools_passes = true,
     .relatives = kOfGrouped,
     .compute_time = product_time,
     .analytic_spread = kUnsampled},
};

}  // namespace

constinit const std::span<const Description> kProducts = kTable;

}  // namespace foretrain
