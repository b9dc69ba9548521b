#include "cost/analytic.h"

#include <algorithm>
#include <cmath>

#include "operators/tiling.h"

namespace foretrain {
namespace {

// Between two dependent kernels of one stream: the drain of one and the ramp of the next (assumed).
constexpr Seconds kKernelGap = microseconds(1.5);

// Elements a clock and SM of kernels that load one at a time (a broadcast bias, x / rms, strided halves): 1.4
// to 1.6 over ten such kernels of PyTorch 2.11 on our H200 (132 SMs at 1980 MHz). An element is read and
// written.
constexpr double kScalarElements = 1.5;

// What a kernel of this kind reaches of a long stream's bandwidth. Public A100 and GH200 samples (published
// with arXiv 2509.22832) put residual adds at 1, gelu at 0.7 to 0.85, layer norms at 0.6. On our H200 sums of
// columns, a bias' gradient, reach 0.6 to 0.8.
double stream_share(OperatorKind kind, Impl impl) {
  if (impl == Impl::kEager && kind != OperatorKind::kCopy)
    return 1.0;  // counted as measured, kernel by kernel
  const bool chain = kind == OperatorKind::kRmsnorm || kind == OperatorKind::kRope;
  if (chain && impl != Impl::kFused) return 0.95;  // plain library kernels in a row
  switch (kind) {
    case OperatorKind::kBias:
      return 0.7;
    case OperatorKind::kBatchedProduct:
      return 0.75;                // scores of many small products
    case OperatorKind::kPermute:  // rows gathered and scattered whole; these and the next assumed
    case OperatorKind::kUnpermute:
      return 0.8;
    case OperatorKind::kRoute:
      return 0.65;
    case OperatorKind::kLayernorm:
    case OperatorKind::kRmsnorm:
    case OperatorKind::kSoftmax:
      return 0.65;
    case OperatorKind::kEmbedding:
    case OperatorKind::kCrossEntropy:
      return 0.7;
    case OperatorKind::kRope:
      return 0.7;
    case OperatorKind::kGelu:
    case OperatorKind::kSwiglu:
    case OperatorKind::kGeglu:
    case OperatorKind::kSquaredRelu:
    case OperatorKind::kBiasGelu:
    case OperatorKind::kBiasDropoutAdd:
    case OperatorKind::kDropout:
      return 0.8;
    default:
      return 0.95;
  }
}

// Relative spread of the analytic figure: for products about its scatter over the public samples, else
// assumed.
double analytic_spread(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kLinear:
      return 0.10;
    case OperatorKind::kBatchedProduct:
    case OperatorKind::kAttention:
    case OperatorKind::kGroupedProduct:
      return 0.20;
    case OperatorKind::kRoute:  // sorts and counts of a few thousand rows wait more than they work
      return 0.40;
    case OperatorKind::kPermute:
    case OperatorKind::kUnpermute:
    case OperatorKind::kAdamw:
    case OperatorKind::kGradNorm:
    case OperatorKind::kScaleGrads:
    case OperatorKind::kCastGrads:
    case OperatorKind::kCastWeights:
    case OperatorKind::kZeroGrads:
      return 0.25;
    default:
      return 0.20;
  }
}

// FlashAttention 1 in Triton against FlashAttention 2 on an A100. FlashAttention 2 is twice as fast as
// FlashAttention 1 (Dao 2023, arXiv 2307.08691); the Triton kernel's forward is faster than that one's, its
// backward slower, both together a little slower (flash_attn_triton.py of Dao-AILab/flash-attention). The
// split is assumed.
constexpr double kTritonForward = 1.4;
constexpr double kTritonBackward = 2.0;

// Share of the card's power while streaming from memory; products draw the cap.
constexpr double kStreamPowerShare = 0.75;

}  // namespace

Seconds AnalyticCost::product_time(double batch, double m, double k, double n, Dtype dtype,
                                   double deviation) const {
  return tiled_work(batch, m, k, n, static_cast<double>(gpu_.sms), deviation) /
         (gpu_.rate(dtype) * gpu_.product_efficiency);
}

// One kernel has the tiles of all experts to fill its waves with, a loop those of one at a time.
Seconds AnalyticCost::grouped_time(const Operator& op) const {
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
  const bool loop = op.impl == Impl::kEager;
  const double experts = size(0), rows = size(1) / experts, k = size(2), n = size(3);
  const double batch = loop ? 1 : experts, repeats = loop ? experts : 1;
  const double deviation = routed_deviation(size(1), experts);
  const Seconds input = product_time(batch, rows, n, k, op.dtype, deviation) * repeats;
  const Seconds weight = product_time(batch, k, rows, n, op.dtype) * repeats;
  if (op.pass == PassKind::kBackward) return input + weight;
  if (op.pass == PassKind::kInput) return input;
  if (op.pass == PassKind::kWeight) return weight;
  return product_time(batch, rows, k, n, op.dtype, deviation) * repeats;
}

Seconds AnalyticCost::compute_time(const Operator& op) const {
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
  const bool forward = op.pass == PassKind::kForward;
  switch (op.kind) {
    case OperatorKind::kLinear: {
      const double m = size(0), k = size(1), n = size(2);
      const Seconds input = product_time(1, m, n, k, op.dtype);   // dx = dy w^T
      const Seconds weight = product_time(1, k, m, n, op.dtype);  // dw = x^T dy
      if (op.pass == PassKind::kBackward) return input + weight;
      if (op.pass == PassKind::kInput) return input;
      if (op.pass == PassKind::kWeight) return weight;
      return product_time(1, m, k, n, op.dtype);
    }
    case OperatorKind::kBatchedProduct: {
      const double b = size(0), m = size(1), k = size(2), n = size(3);
      if (forward) return product_time(b, m, k, n, op.dtype);
      return product_time(b, m, n, k, op.dtype) + product_time(b, k, m, n, op.dtype);
    }
    case OperatorKind::kGroupedProduct:
      return grouped_time(op);
    case OperatorKind::kAttention: {
      // Tiled attention reaches about 0.7 of what products do forward, 0.55 backward at head_dim 128, and
      // less for narrower heads, whose softmax weighs more (Dao 2023, figures 4 to 6).
      const double head = std::min(1.0, 0.5 + size(4) / 256);
      const double share = (forward ? 0.70 : 0.55) * head;
      FlopsPerSecond rate = gpu_.rate(op.dtype);
      // mma.sync issues 2048 operations a clock and SM, Ampere's rate, also on later parts (FlashAttention 2
      // reaches 35 % of an H100: Shah et al. 2024, arXiv 2407.08608).
      const bool mma_sync = op.impl == Impl::kFlash || op.impl == Impl::kTriton;
      if (mma_sync)
        rate =
            std::min(rate, FlopsPerSecond(2048.0 * gpu_.clock_max_mhz * 1e6 * static_cast<double>(gpu_.sms)));
      const double slower = op.impl != Impl::kTriton ? 1.0 : forward ? kTritonForward : kTritonBackward;
      return flops(op) / (rate * gpu_.product_efficiency * share) * slower;
    }
    default:
      return Seconds(0);
  }
}

Seconds AnalyticCost::memory_time(const Operator& op) const {
  const BytesPerSecond stream = gpu_.hbm * gpu_.memory_efficiency * stream_share(op.kind, op.impl);
  const double elements = scalar_elements(op);
  const Bytes scalar(std::min(2 * bytes_of(op.dtype) * elements, bytes(op).value));
  const double issue = kScalarElements * static_cast<double>(gpu_.sms) * gpu_.clock_max_mhz * 1e6;
  const Seconds issued = issue > 0 ? Seconds(elements / issue) : Seconds(0);
  return (bytes(op) - scalar) / stream + std::max(scalar / stream, issued);
}

OperatorCost AnalyticCost::cost(const Operator& op) const {
  OperatorCost cost;
  const Seconds compute = compute_time(op);
  const Seconds memory = memory_time(op);
  const Seconds busy = std::max(compute, memory);
  cost.gpu = busy + kKernelGap * static_cast<double>(op.launches);
  cost.host = host_launch_ * static_cast<double>(op.launches);
  const bool clocked = compute >= memory && compute > Seconds(0);
  cost.clocked_share = clocked ? busy / cost.gpu : 0.0;
  cost.watts = gpu_.power_cap_w * (clocked ? 1.0 : kStreamPowerShare);
  cost.spread = analytic_spread(op.kind);
  return cost;
}

}  // namespace foretrain
