#include "workload/operator.h"

#include "base/check.h"

namespace foretrain {
namespace {

// Bytes an element of a pointwise operator moves, forward and backward, where activations take `a` bytes.
// An eager chain is counted kernel by kernel.
struct Traffic {
  double forward;
  double backward;
};

Traffic pointwise_traffic(OperatorKind kind, Impl impl, double a) {
  const bool eager = impl == Impl::kEager;
  switch (kind) {
    case OperatorKind::kSoftmax:
      // Fused with the causal mask it skips what lies above the diagonal: half of each read, and half of the
      // backward's write.
      if (eager) return {2 * a + 16, 3 * a + 16};
      return impl == Impl::kAten ? Traffic{2 * a, 3 * a} : Traffic{1.5 * a, 2 * a};
    case OperatorKind::kLayernorm:  // the backward reads input and gradient twice for dx, once for the scale
      return {2 * a, 7 * a};
    case OperatorKind::kRmsnorm:
      // Eager (Hugging Face): to fp32, square, mean, scale, back, times weight; 0.441 and 0.967 ms for 8192 x
      // 4096 on our H200. Library kernels (NeoX): norm, division, scale. The forward is set to what
      // the kernels took inside a measured run (731 us, LLaMA-7B layer, A100), for want of usable samples;
      // the backward is 4.5 times that, the ratio in public A100 samples.
      if (eager) return {28 * a, 62 * a};
      return impl == Impl::kAten ? Traffic{9 * a, 41 * a} : Traffic{2 * a, 7 * a};
    case OperatorKind::kRope:
      // Eager: x cos + rotate_half(x) sin in neg, cat, products and sums over strided heads; 1.224 and 0.878
      // ms for 8192 x (4096 + 4096) on our H200. Scripted (NeoX): the forward as inside a measured
      // run (597 us, LLaMA-7B layer, A100), the backward 1.8 times that, the ratio in public samples.
      if (eager) return {39 * a, 28 * a};
      return impl == Impl::kAten ? Traffic{8 * a, 14 * a} : Traffic{2 * a, 2 * a};
    case OperatorKind::kGelu:
      return eager ? Traffic{16 * a, 24 * a} : Traffic{2 * a, 3 * a};
    case OperatorKind::kSquaredRelu:
      return eager ? Traffic{4 * a, 6 * a} : Traffic{2 * a, 3 * a};
    // Gated activations count an element of one of the two halves: two reads, one write.
    case OperatorKind::kSwiglu:
    case OperatorKind::kGeglu:
      return eager ? Traffic{5 * a, 9 * a} : Traffic{3 * a, 5 * a};
    case OperatorKind::kAdd:
      return {3 * a, 3 * a};  // backward: the gradients of both uses of the input meet
    case OperatorKind::kBias:
      return {2 * a, a};  // the backward sums the gradient over tokens
    case OperatorKind::kBiasGelu:
      return {2 * a, 4 * a};
    // Backward: through the dropout, the bias' sum over tokens, the meeting of both gradients.
    case OperatorKind::kBiasDropoutAdd:
      return {3 * a + 1, 6 * a + 1};
    case OperatorKind::kDropout:
      return {2 * a + 1, 2 * a + 1};
    case OperatorKind::kCopy:
      return {2 * a, 2 * a};
    case OperatorKind::kMaskedFill:  // in place; the mask takes a byte
      return {2 * a + 1, 2 * a + 1};
    default:
      break;
  }
  CHECK_THAT(!"a pointwise operator");
  return {};
}

double optimizer_bytes(const Operator& op) {
  const auto& s = op.sizes;
  const double kept = static_cast<double>(s[2]);
  const double weight = static_cast<double>(s[3]);
  const double moment = static_cast<double>(s[4]);
  const double master = static_cast<double>(s[5]);
  const double grad = master > 0 ? 4 : kept;  // next to a master copy the update works on fp32 gradients
  switch (op.kind) {
    case OperatorKind::kAdamw:
      return grad + 4 * moment + 2 * (master > 0 ? master : weight);
    case OperatorKind::kGradNorm:
      return grad;
    case OperatorKind::kScaleGrads:
      return 2 * grad;
    case OperatorKind::kCastGrads:
      return kept < grad ? kept + grad : 0;
    case OperatorKind::kCastWeights:
      return master + weight;
    case OperatorKind::kZeroGrads:
      return kept;
    default:
      break;
  }
  CHECK_THAT(!"an optimizer operator");
  return 0;
}

bool is_optimizer(OperatorKind kind) { return kind >= OperatorKind::kAdamw; }

}  // namespace

std::size_t hash_of(const Operator& op) {
  // Multiply-xorshift over the sizes: cheap, and sizes that differ in one place never collide by symmetry.
  std::uint64_t h = static_cast<std::uint64_t>(op.kind) | static_cast<std::uint64_t>(op.impl) << 8 |
                    static_cast<std::uint64_t>(op.pass) << 16 | static_cast<std::uint64_t>(op.dtype) << 24 |
                    static_cast<std::uint64_t>(static_cast<std::uint32_t>(op.launches)) << 32;
  for (const std::int64_t size : op.sizes) {
    h = (h ^ static_cast<std::uint64_t>(size)) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  }
  return h;
}

Flops flops(const Operator& op) {
  const auto size = [&](int i) { return static_cast<double>(op.sizes[static_cast<std::size_t>(i)]); };
  const bool forward = op.pass == PassKind::kForward;
  switch (op.kind) {
    case OperatorKind::kLinear:
      return Flops((op.pass == PassKind::kBackward ? 4 : 2) * size(0) * size(1) * size(2));
    case OperatorKind::kBatchedProduct:  // the backward makes the gradients of both operands
      return Flops((forward ? 2 : 4) * size(0) * size(1) * size(2) * size(3));
    case OperatorKind::kAttention: {
      // Two products forward; backward five, one of them the scores again (Dao 2023, arXiv 2307.08691).
      const double half = op.sizes[5] ? 0.5 : 1.0;
      return Flops((forward ? 4 : 10) * half * size(0) * size(1) * size(3) * size(3) * size(4));
    }
    default:
      return Flops(0);
  }
}

Bytes bytes(const Operator& op) {
  const double a = bytes_of(op.dtype);
  const auto size = [&](int i) { return static_cast<double>(op.sizes[static_cast<std::size_t>(i)]); };
  const bool forward = op.pass == PassKind::kForward;
  if (is_optimizer(op.kind)) return Bytes(size(0) * optimizer_bytes(op));
  switch (op.kind) {
    case OperatorKind::kLinear:
      return Bytes((op.pass == PassKind::kBackward ? 2 : 1) * a *
                   (size(0) * size(1) + size(1) * size(2) + size(0) * size(2)));
    case OperatorKind::kBatchedProduct:
      return Bytes((forward ? 1 : 2) * a * size(0) *
                   (size(1) * size(2) + size(2) * size(3) + size(1) * size(3)));
    case OperatorKind::kAttention: {
      const double q = size(0) * size(1) * size(3) * size(4);
      const double kv = size(0) * size(2) * size(3) * size(4);
      return Bytes(a * (forward ? 2 * q + 2 * kv : 4 * q + 4 * kv));
    }
    case OperatorKind::kEmbedding:  // a gather; the backward adds rows into a zeroed table
      return Bytes(forward ? 2 * a * size(0) * size(1) : 3 * a * size(0) * size(1) + a * size(1) * size(2));
    case OperatorKind::kAccumulate:
      return Bytes(size(0) * size(1) * (a + 2 * size(2)));
    case OperatorKind::kCrossEntropy:
      // Eager: logits to fp32, log-softmax, pick; backward the same way down to half precision.
      if (op.impl == Impl::kEager) return Bytes((forward ? a + 16 : a + 16) * size(0) * size(1));
      return Bytes((forward ? 2 * a : 2 * a) * size(0) * size(1));
    default:
      break;
  }
  const Traffic traffic = pointwise_traffic(op.kind, op.impl, a);
  return Bytes(size(0) * size(1) * (forward ? traffic.forward : traffic.backward));
}

}  // namespace foretrain
