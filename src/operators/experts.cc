#include "operators/experts.h"

#include <fmt/format.h>

#include "operators/light.h"

namespace foretrain {
namespace {

// What PyTorch launches to send rows to experts and back, in accesses of a row (of `width` elements) a token;
// a token has k = top_k rows. Kernels marked * load one element at a time. Seen in the kernels that Hugging
// Face transformers 5 launches on an H200; rows that a gather visits again are counted once (they have a term
// of their own). An fp32 row counts as two.
//   permute    forward   gathered by index 1 + k, those of nobody cleared 2k*
//              backward  copied 2k, cleared 2k*, zeros 1, added by index (after a sort): gradients k, sums 2
//   unpermute  forward   times weights 2k*, gathered 2k, summed k + 1
//              backward  spread 1 + k*, zeros k, by index k + 2k, times rows 3k, times weights 2k*, sums k
//   fp32-scale forward   times fp32 weights 3k*, gathered 4k, summed 2k + 2, to half precision 3
//              backward  to fp32 3, spread 2 + 2k*, zeros 2k, by index 2k + 4k, times rows 5k, times weights 4k*,
//                        to half precision 3k, sums 2k
// One kernel each: permute reads a row once and writes it k times, unpermute reads k rows and writes their sum; back the
// other way round. Rows are weighed by the activation before.
//
// By index (atomic; Megatron-LM without its fused kernels): rows are gathered 1 + k*, and back zeros 1 and each
// added where it belongs; unpermute does these the other way round. PyTorch adds by an atomic an element, which
// takes as long as kAtomicAccesses streamed ones. Against a fused kernel's accesses on the same GPU, 8192 tokens
// of 4096 elements and eight experts each: index_select's backward 9 to 12, scatter_add 10 to 14 (DLBlas, pull
// request 66, bf16); index_add on an MI325X 8 of its bandwidth (PyTorch, issue 182525, fp32).
constexpr double kAtomicAccesses = 10;
double permuted_rows(const Operator& op, double k) {
  if (op.impl == Impl::kAtomic) return 1 + (is_forward(op) ? 1 : kAtomicAccesses) * k;
  if (is_eager(op)) return is_forward(op) ? 1 + 3 * k : 3 + 5 * k;
  return 1 + k;
}
double unpermuted_rows(const Operator& op, double k) {
  if (op.impl == Impl::kAtomic) return 1 + (is_forward(op) ? kAtomicAccesses : 1) * k;
  if (op.impl == Impl::kFp32Scale) return is_forward(op) ? 5 + 9 * k : 5 + 24 * k;
  if (is_eager(op)) return is_forward(op) ? 1 + 5 * k : 1 + 11 * k;
  return 1 + k;
}

template <double (*rows)(const Operator& op, double k)>
Bytes sent_bytes(const Operator& op) {
  const auto [tokens, width, top_k] = real_sizes<3>(op);
  return Bytes(bytes_of(op.dtype) * tokens * width * rows(op, top_k));
}

// Router, in bytes of a logit and of a choice (a token has top_k of them; weights fp32, numbers int64),
// assumed in the same way.
//   forward   a logit: to fp32 a + 4, softmax 8, topk 4
//             a choice: topk 12, sum 4, division 8, sort of the experts' numbers in eight passes of eight
//             bits 8 * 32, counts 24 (least, largest, histogram)
//   backward  a logit: zeros 4, softmax 12, to half precision 4 + a
//             a choice: through the division and its sum 40, scatter 16
// Fused: logits in, softmax kept, weights, numbers and order out; back softmax and gradient in, logits out.
Bytes route_bytes(const Operator& op) {
  const auto [tokens, experts, top_k] = real_sizes<3>(op);
  const double a = bytes_of(op.dtype), logits = tokens * experts, choices = tokens * top_k;
  const bool forward = is_forward(op);
  if (!is_eager(op)) return Bytes((a + 4) * logits + (forward ? 28 : 12) * choices);
  return Bytes(forward ? (a + 16) * logits + 304 * choices : (a + 20) * logits + 56 * choices);
}

double least_route_bytes(const Operator& op) {
  const auto [tokens, experts] = real_sizes<2>(op);
  return bytes_of(op.dtype) * tokens * experts;
}

// Launches, copies and fills as PyTorch 2.11's profiler counts them on an H200; fused ones are assumed.
std::int32_t permute_launches(const Operator& op) {
  if (op.impl == Impl::kAtomic) return is_forward(op) ? 1 : 2;
  return !is_eager(op) ? 1 : is_forward(op) ? 3 : 16;
}
std::int32_t unpermute_launches(const Operator& op) {
  if (op.impl == Impl::kAtomic) return is_forward(op) ? 2 : 1;
  if (op.impl == Impl::kFp32Scale) return is_forward(op) ? 6 : 20;
  return !is_eager(op) ? 1 : is_forward(op) ? 5 : 18;
}
std::int32_t route_launches(const Operator& op) {
  if (is_eager(op)) return is_forward(op) ? 36 : 26;
  return is_forward(op) ? 3 : 1;
}

// Each of a token's rows.
double scalar_rows(const Operator& op, double passes) {
  const auto [tokens, width, top_k] = real_sizes<3>(op);
  return passes * top_k * tokens * width;
}
double permute_scalars(const Operator& op) {
  return scalar_rows(op, is_eager(op) || (op.impl == Impl::kAtomic && is_forward(op)) ? 1 : 0);
}
double unpermute_scalars(const Operator& op) {
  if (op.impl == Impl::kAtomic) return scalar_rows(op, is_forward(op) ? 0 : 1);
  return scalar_rows(op, op.impl == Impl::kFused ? 0 : is_forward(op) ? 1 : 2);
}

Result<void> check_route(const Operator& op, const Position& at) {
  const auto sizes = op.as<RouteSizes>();
  if (sizes.top_k <= sizes.experts) return {};
  return fail(fmt::format("found experts={} top_k={}, expected top_k to be at most experts", sizes.experts,
                          sizes.top_k),
              at);
}

Bytes permute_made(const Operator& op) {
  const auto [tokens, width, top_k] = real_sizes<3>(op);
  return Bytes(bytes_of(op.dtype) * tokens * width * top_k);
}
Bytes unpermute_made(const Operator& op) {  // eager, the rows times their weights
  const auto [tokens, width, top_k] = real_sizes<3>(op);
  return Bytes(bytes_of(op.dtype) * tokens * width * (is_eager(op) ? top_k : 1));
}
Bytes route_made(const Operator& op) {
  const auto [tokens, experts] = real_sizes<2>(op);
  return Bytes(4 * tokens * experts);
}

Bytes permute_working(const Operator& op) {
  const auto [tokens, width, top_k] = real_sizes<3>(op);
  const double rows = is_forward(op) ? top_k : 1 + (is_eager(op) ? 2 : 1) * top_k;
  return Bytes(bytes_of(op.dtype) * tokens * width * rows);
}
// Weighed rows, in their order and in that of tokens; backward the gradient's rows, those weighed, and those
// times the rows. All of these in fp32 where the weights are, beside the weighed ones in half precision: so an
// H200's allocator shows it under transformers 5.
double unpermute_working_rows(const Operator& op, double k) {
  if (op.impl == Impl::kFused || op.impl == Impl::kAtomic) return is_forward(op) ? 0 : k;
  if (op.impl == Impl::kFp32Scale) return (is_forward(op) ? 4 : 7) * k;
  return (is_forward(op) ? 2 : 3) * k;
}
Bytes unpermute_working(const Operator& op) {
  const auto [tokens, width, top_k] = real_sizes<3>(op);
  return Bytes(bytes_of(op.dtype) * tokens * width * (1 + unpermute_working_rows(op, top_k)));
}
Bytes route_working(const Operator& op) {
  const auto [tokens, experts] = real_sizes<2>(op);
  const double chain = is_eager(op) ? 2 : 1;
  return Bytes(4 * chain * tokens * experts);
}

void add_sent_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  const auto [tokens, width, top_k] = real_sizes<3>(op);
  add_row_terms(t, op, gpu);
  t.add(bytes_of(op.dtype) * tokens * width * (top_k - 1) / gpu.hbm.value);  // visited again, uncached
}

void add_route_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  const auto [tokens, experts, top_k] = real_sizes<3>(op);
  add_row_terms(t, op, gpu);
  t.add(tokens * top_k * 1e-9);  // rows that are sorted
}

constexpr Relative kOfUnpermute[] = {{Impl::kFp32Scale, OperatorKind::kUnpermute, Impl::kEager}};

// Rows gathered and scattered whole, 0.8 of the bandwidth; this and the router's share are assumed.
constinit const Description kTable[] = {
    {.kind = OperatorKind::kPermute,
     .size_names = SentSizes::kNames,
     .usual_impl = Impl::kEager,
     .bytes = sent_bytes<permuted_rows>,
     .usual_launches = permute_launches,
     .scalar_elements = permute_scalars,
     .made_bytes = permute_made,
     .working_bytes = permute_working,
     .add_terms = add_sent_terms,
     .stream_share = 0.8,
     .analytic_spread = 0.25},
    {.kind = OperatorKind::kUnpermute,
     .size_names = SentSizes::kNames,
     .usual_impl = Impl::kEager,
     .bytes = sent_bytes<unpermuted_rows>,
     .usual_launches = unpermute_launches,
     .scalar_elements = unpermute_scalars,
     .made_bytes = unpermute_made,
     .working_bytes = unpermute_working,
     .add_terms = add_sent_terms,
     .relatives = kOfUnpermute,
     .stream_share = 0.8,
     .analytic_spread = 0.25},
    {.kind = OperatorKind::kRoute,
     .size_names = RouteSizes::kNames,
     .usual_impl = Impl::kEager,
     .check_sizes = check_route,
     .bytes = route_bytes,
     .usual_launches = route_launches,
     .least_bytes = least_route_bytes,
     .made_bytes = route_made,
     .working_bytes = route_working,
     .add_terms = add_route_terms,
     .stream_share = 0.65,
     .analytic_spread = 0.40},  // sorts and counts of a few thousand rows wait more than they work
};

}  // namespace

constinit const std::span<const Description> kOfExperts = kTable;

}  // namespace foretrain
