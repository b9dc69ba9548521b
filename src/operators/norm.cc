#include "operators/norm.h"

#include <algorithm>
#include <cmath>

#include "operators/features.h"
#include "operators/light.h"
#include "operators/sums.h"

namespace foretrain {
namespace {

// What PyTorch launches for the chain that NeoX runs as library kernels, in accesses an element (a read or a
// write of one tensor). Kernels marked * load one element at a time. Read off the code, and seen so in the
// kernels that PyTorch 2.11 launches on an H200.
//
// RMSNorm: scale * (x / (|x| / sqrt(d) + eps)); the small tensors of |x| are not counted
//   forward   |x| 1, x / r 2*, times scale 2*                                                  5, two scalar
//   backward  through scale: dy xn 3, its sum over tokens 1, dy scale 2*
//             through the division: d / r 2*, x / r 2*, again / r 2*, -d 2, product 3, row sum 1
//             through |x|: x / |x| 2*, mask 2*, times its gradient 2*; both gradients of x meet 3
//                                                                                              27, seven
//   With an fp32 scale the forward's product writes fp32 (3* for 2*, half as long again), and dy is fp32:
//   dy xn 5, its sum 2, dy scale 4*, back to half precision 3                                  6 and 35
struct Chain {
  Traffic accesses;
  Traffic scalar;  // passes of an element through kernels marked *
};
constexpr Chain kChain = {{5, 27}, {2, 7}};
constexpr Chain kFp32Chain = {{6, 35}, {2.5, 7}};

// One kernel. The backward reads input and gradient twice for dx, once for the scale.
Bytes fused_bytes(const Operator& op) {
  const double a = bytes_of(op.dtype);
  return streamed_bytes(op, {2 * a, 7 * a});
}

Bytes rmsnorm_bytes(const Operator& op) {
  const double a = bytes_of(op.dtype);
  switch (op.impl) {
    case Impl::kEager:
      // Hugging Face: to fp32, square, mean, scale, back, times weight; 0.441 and 0.967 ms for 8192 x 4096 on
      // our H200.
      return streamed_bytes(op, {28 * a, 62 * a});
    case Impl::kFp32Scale:
      return streamed_bytes(op, times(kFp32Chain.accesses, a));
    case Impl::kAten:
      return streamed_bytes(op, times(kChain.accesses, a));
    default:
      return fused_bytes(op);
  }
}

double rmsnorm_scalars(const Operator& op) {
  const auto [tokens, width] = real_sizes<2>(op);
  const double passes = op.impl == Impl::kFp32Scale ? traffic_of(op, kFp32Chain.scalar)
                        : op.impl == Impl::kAten    ? traffic_of(op, kChain.scalar)
                                                    : 0;
  return passes * tokens * width;
}

std::int32_t layernorm_launches(const Operator& op) {
  if (is_eager(op)) return is_forward(op) ? 11 : 21;
  return is_forward(op) ? 1 : 2;
}

std::int32_t rmsnorm_launches(const Operator& op) {  // the chains above; small tensors count here
  const bool forward = is_forward(op);
  switch (op.impl) {
    case Impl::kFused:
      return forward ? 1 : 2;
    case Impl::kEager:
      return forward ? 8 : 17;
    case Impl::kFp32Scale:
      return forward ? 5 : 17;
    default:
      return forward ? 5 : 16;
  }
}

double least_norm_bytes(const Operator& op) {
  const auto [tokens, width] = real_sizes<2>(op);
  return bytes_of(op.dtype) * tokens * width * (is_forward(op) ? 2 : 3);
}

void add_norm_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  add_row_terms(t, op, gpu);
  const double sms = static_cast<double>(gpu.sms);
  if (op.impl == Impl::kFused) {
    const double stream = (bytes(op) / gpu.hbm).value;
    const NormRows norm = norm_rows(op, sms);
    t.add(norm.steps * 0.5e-6);
    t.add(stream * norm.read_again);
    t.add(norm.read_again > kNormAllAgain ? stream : 0);
    t.add(norm.sum_steps * 1e-6);
  } else if (is_forward(op)) {
    const auto [tokens, width] = real_sizes<2>(op);
    t.add(row_sum_values(tokens, width, sms) * 1e-7);
  } else {
    add_column_sum_terms(t, op, gpu, true);
  }
}

void add_norm_features(Features& f, const Operator& op, const Gpu& gpu) {
  add_light_features(f, op);
  if (op.impl == Impl::kFused) {
    const NormRows norm = norm_rows(op, static_cast<double>(gpu.sms));
    f.add(log2_of(norm.steps), 0.25);
    f.add(norm.read_again, 0.5);
  } else if (!is_forward(op)) {
    add_column_sum_features(f, op, gpu);
  }
}

constexpr Relative kOfRmsnorm[] = {{Impl::kAten, OperatorKind::kRmsnorm, Impl::kFp32Scale},
                                   {Impl::kFused, OperatorKind::kLayernorm, Impl::kFused}};

// Public A100 and GH200 samples (published with arXiv 2509.22832) put layer norms at 0.6 of the bandwidth:
// rows pass through reductions. Library kernels in a row do not.
constinit const Description kTable[] = {
    {.kind = OperatorKind::kLayernorm,
     .size_names = TokenSizes::kNames,
     .bytes = fused_bytes,
     .usual_launches = layernorm_launches,
     .least_bytes = least_norm_bytes,
     .add_terms = add_norm_terms,
     .add_features = add_norm_features,
     .stream_share = 0.65},
    {.kind = OperatorKind::kRmsnorm,
     .size_names = TokenSizes::kNames,
     .bytes = rmsnorm_bytes,
     .usual_launches = rmsnorm_launches,
     .scalar_elements = rmsnorm_scalars,
     .least_bytes = least_norm_bytes,
     .add_terms = add_norm_terms,
     .add_features = add_norm_features,
     .relatives = kOfRmsnorm,
     .stream_share = 0.65,
     .library_share = 0.95},
};

}  // namespace

constinit const std::span<const Description> kNorms = kTable;

NormRows norm_rows(const Operator& op, double sms) {
  constexpr double kBlocks = 16, kStep = 512, kCache = 256 * 1024, kForRows = 0.6 * kCache;
  const auto [rows, width] = real_sizes<2>(op);
  const double tensors = is_forward(op) ? 1 : 2;
  NormRows norm;
  norm.steps = std::ceil(rows / (kBlocks * sms)) * std::ceil(width / kStep);
  if (!is_forward(op)) norm.sum_steps = std::ceil(rows / 256) * std::ceil(width / 32 / sms);
  norm.read_again = std::max(0.0, 1 - kForRows / (kBlocks * tensors * width * bytes_of(op.dtype)));
  return norm;
}

}  // namespace foretrain
