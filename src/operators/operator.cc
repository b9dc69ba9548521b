#include "operators/operator.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {
namespace {

// Bytes an element of a pointwise operator moves, forward and backward, where activations take `a` bytes.
// An eager chain is counted kernel by kernel.
struct Traffic {
  double forward;
  double backward;
};

// What PyTorch launches for the two chains that NeoX runs as library kernels, in accesses an element (a read
// or a write of one tensor). Kernels marked * load one element at a time. Read off the code, and seen so in
// the kernels that PyTorch 2.11 launches on an H200.
//
// RMSNorm: scale * (x / (|x| / sqrt(d) + eps)); the small tensors of |x| are not counted
//   forward   |x| 1, x / r 2*, times scale 2*                                                  5, two scalar
//   backward  through scale: dy xn 3, its sum over tokens 1, dy scale 2*
//             through the division: d / r 2*, x / r 2*, again / r 2*, -d 2, product 3, row sum 1
//             through |x|: x / |x| 2*, mask 2*, times its gradient 2*; both gradients of x meet 3
//                                                                                              27, seven
//   With an fp32 scale the forward's product writes fp32 (3* for 2*, half as long again), and dy is fp32:
//   dy xn 5, its sum 2, dy scale 4*, back to half precision 3                                  6 and 35
// RoPE: x cos + rotate_half(x) sin, scripted; the tables of cos and sin are not counted
//   forward   -x2 (one half) 1*, joined 2*, products and sum in one fused kernel 3*             6
//             (-x2 half a pass; joining takes 1.5 times as long as a broadcast, the fused kernel too)
//   backward  g sin 2*, g cos 2*, -x2 1*, both halves into zeros (1 + 1*) twice, two sums 3      15
struct Chain {
  Traffic accesses;
  Traffic scalar;  // passes of an element through kernels marked *
};
constexpr Chain kRmsnormChain = {{5, 27}, {2, 7}};
constexpr Chain kRmsnormFp32Chain = {{6, 35}, {2.5, 7}};
constexpr Chain kRopeChain = {{6, 15}, {3.5, 3.5}};

Traffic times(const Traffic& accesses, double a) { return {accesses.forward * a, accesses.backward * a}; }

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
      // 4096 on our H200.
      if (eager) return {28 * a, 62 * a};
      if (impl == Impl::kFp32Scale) return times(kRmsnormFp32Chain.accesses, a);
      return impl == Impl::kAten ? times(kRmsnormChain.accesses, a) : Traffic{2 * a, 7 * a};
    case OperatorKind::kRope:
      // Eager: x cos + rotate_half(x) sin in neg, cat, products and sums over strided heads; 1.224 and 0.878
      // ms for 8192 x (4096 + 4096) on our H200.
      if (eager) return {39 * a, 28 * a};
      return impl == Impl::kAten ? times(kRopeChain.accesses, a) : Traffic{2 * a, 2 * a};
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
    // Backward: through the dropout, and the bias' sum over tokens.
    case OperatorKind::kBiasDropoutAdd:
      return {3 * a + 1, 3 * a + 1};
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

// What PyTorch launches to send rows to experts and back, in accesses of a row (of `width` elements) a token;
// a token has k = top_k rows. Kernels marked * load one element at a time. Assumed from what each call
// has to do (how many kernels it launches was counted, usual_launches); rows that a gather visits again are
// counted once (they have a term of their own, operators/terms.h).
//   permute    forward   index_select 1 + k
//              backward  zeros 1, index_add: gradients k*, sums read and written 2
//   unpermute  forward   rows times weights 2k*, zeros 1, index_add k* and 2
//              backward  index_select 1 + k, times weights 2k*, gradients times rows 3k, their sum k
// One kernel each: permute reads a row once, writes it k times, and back; unpermute reads k rows and writes
// one, and back reads the gradient and, for those of the weights, the rows again.
double sent_rows(const Operator& op) {
  const double k = static_cast<double>(op.flat()[2]);
  const bool forward = op.pass == PassKind::kForward, eager = op.impl == Impl::kEager;
  if (op.kind == OperatorKind::kPermute) return eager && !forward ? 3 + k : 1 + k;
  if (eager) return forward ? 3 + 3 * k : 1 + 7 * k;
  return forward ? 1 + k : 1 + 2 * k;
}

// Router, in bytes of a logit and of a choice (a token has top_k of them; weights fp32, numbers int64),
// assumed in the same way.
//   forward   a logit: to fp32 a + 4, softmax 8, topk 4
//             a choice: topk 12, sum 4, division 8, sort of the experts' numbers in eight passes of eight
//             bits 8 * 32, counts 24 (least, largest, histogram)
//   backward  a logit: zeros 4, softmax 12, to half precision 4 + a
//             a choice: through the division and its sum 40, scatter 16
// Fused: logits in, softmax kept, weights, numbers and order out; back softmax and gradient in, logits out.
double route_bytes(const Operator& op, double a) {
  const bool forward = op.pass == PassKind::kForward;
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
  const double logits = size(0) * size(1), choices = size(0) * size(2);
  if (op.impl != Impl::kEager) return (a + 4) * logits + (forward ? 28 : 12) * choices;
  return forward ? (a + 16) * logits + 304 * choices : (a + 20) * logits + 56 * choices;
}

double optimizer_bytes(const Operator& op) {
  const auto& s = op.flat();
  const double kept = static_cast<double>(s[2]);
  const double weight = static_cast<double>(s[3]);
  const double moment = moment_bytes(s[4]);
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

}  // namespace

std::size_t hash_of(const Operator& op) {
  // Multiply-xorshift over the sizes: cheap, and sizes that differ in one place never collide by symmetry.
  std::uint64_t h = static_cast<std::uint64_t>(op.kind) | static_cast<std::uint64_t>(op.impl) << 8 |
                    static_cast<std::uint64_t>(op.pass) << 16 | static_cast<std::uint64_t>(op.dtype) << 24 |
                    static_cast<std::uint64_t>(static_cast<std::uint32_t>(op.launches)) << 32;
  for (const std::int64_t size : op.flat()) {
    h = (h ^ static_cast<std::uint64_t>(size)) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  }
  return h;
}

std::int32_t usual_launches(const Operator& op) {
  const bool forward = op.pass == PassKind::kForward, whole = op.pass == PassKind::kBackward;
  const bool eager = op.impl == Impl::kEager, fused = op.impl == Impl::kFused;
  switch (op.kind) {
    case OperatorKind::kLinear:
    case OperatorKind::kBatchedProduct:
      return whole ? 2 : 1;
    // Of experts, as PyTorch 2.11's profiler counts them on an H200; fused ones are assumed.
    case OperatorKind::kGroupedProduct:  // in one kernel: before it, one that finds where experts begin
      return static_cast<std::int32_t>((whole ? 2 : 1) * (eager                    ? op.flat()[0]
                                                          : op.impl == Impl::kAten ? 2
                                                                                   : 1));
    case OperatorKind::kPermute:
      return eager && !forward ? 2 : 1;
    case OperatorKind::kUnpermute:
      return eager ? 4 : 1;
    case OperatorKind::kRoute:
      return eager ? (forward ? 16 : 12) : forward ? 3 : 1;
    case OperatorKind::kAttention:  // backward: the sums of rows, the kernel, queries back to half precision
      return forward ? 1 : 3;
    case OperatorKind::kLayernorm:
      return forward ? 1 : 2;
    case OperatorKind::kRmsnorm:  // the chains above; small tensors count here
      if (fused) return forward ? 1 : 2;
      if (eager) return forward ? 6 : 14;
      return forward ? 5 : op.impl == Impl::kFp32Scale ? 17 : 16;
    case OperatorKind::kRope:
      if (fused) return 1;
      if (eager) return forward ? 10 : 14;
      return forward ? 6 : 20;
    case OperatorKind::kGelu:
      return eager ? (forward ? 8 : 12) : 1;
    case OperatorKind::kSwiglu:
      return eager ? (forward ? 2 : 4) : 1;
    case OperatorKind::kGeglu:
      return eager ? (forward ? 9 : 12) : 1;
    case OperatorKind::kSoftmax:
      return eager ? 4 : 1;
    case OperatorKind::kCrossEntropy:
      return eager ? (forward ? 6 : 5) : 1;
    case OperatorKind::kAdamw:
      return fused ? 8 : 1;
    default:
      return 1;
  }
}

Flops flops(const Operator& op) {
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
  const bool forward = op.pass == PassKind::kForward;
  switch (op.kind) {
    case OperatorKind::kLinear:
      return Flops((op.pass == PassKind::kBackward ? 4 : 2) * size(0) * size(1) * size(2));
    case OperatorKind::kGroupedProduct:
      return Flops((op.pass == PassKind::kBackward ? 4 : 2) * size(1) * size(2) * size(3));
    case OperatorKind::kBatchedProduct:  // the backward makes the gradients of both operands
      return Flops((forward ? 2 : 4) * size(0) * size(1) * size(2) * size(3));
    case OperatorKind::kAttention: {
      // Two products forward; backward five, one of them the scores again (Dao 2023, arXiv 2307.08691).
      const double half = op.flat()[5] ? 0.5 : 1.0;
      return Flops((forward ? 4 : 10) * half * size(0) * size(1) * size(3) * size(3) * size(4));
    }
    default:
      return Flops(0);
  }
}

Bytes bytes(const Operator& op) {
  const double a = bytes_of(op.dtype);
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
  const bool forward = op.pass == PassKind::kForward;
  if (is_optimizer(op.kind)) return Bytes(size(0) * optimizer_bytes(op));
  switch (op.kind) {
    case OperatorKind::kLinear:
      return Bytes((op.pass == PassKind::kBackward ? 2 : 1) * a *
                   (size(0) * size(1) + size(1) * size(2) + size(0) * size(2)));
    case OperatorKind::kBatchedProduct:
      return Bytes((forward ? 1 : 2) * a * size(0) *
                   (size(1) * size(2) + size(2) * size(3) + size(1) * size(3)));
    case OperatorKind::kGroupedProduct:
      return Bytes((op.pass == PassKind::kBackward ? 2 : 1) * a *
                   (size(1) * size(2) + size(1) * size(3) + size(0) * size(2) * size(3)));
    case OperatorKind::kPermute:
    case OperatorKind::kUnpermute:
      return Bytes(a * size(0) * size(1) * sent_rows(op));
    case OperatorKind::kRoute:
      return Bytes(route_bytes(op, a));
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

int row_loads(std::int64_t elements) { return elements % 2 != 0 ? 0 : elements % 8 != 0 ? 1 : 2; }

int row_loads(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::kLinear:
      return std::min(row_loads(op.flat()[1]), row_loads(op.flat()[2]));
    case OperatorKind::kBatchedProduct:
    case OperatorKind::kGroupedProduct:
      return std::min(row_loads(op.flat()[2]), row_loads(op.flat()[3]));
    case OperatorKind::kAttention:
      return row_loads(op.flat()[4]);
    default:
      break;
  }
  if (!is_optimizer(op.kind)) return row_loads(op.flat()[1]);
  const std::int64_t tensors = std::max<std::int64_t>(op.flat()[1], 1);
  return op.flat()[0] % tensors != 0 ? 2 : row_loads(op.flat()[0] / tensors);
}

double scalar_elements(const Operator& op) {
  const bool forward = op.pass == PassKind::kForward;
  const auto passes = [&]() -> double {
    const bool aten = op.impl == Impl::kAten;
    const auto of = [&](const Traffic& t) { return forward ? t.forward : t.backward; };
    switch (op.kind) {
      case OperatorKind::kRmsnorm:
        if (op.impl == Impl::kFp32Scale) return of(kRmsnormFp32Chain.scalar);
        return aten ? of(kRmsnormChain.scalar) : 0;
      case OperatorKind::kRope:
        return aten ? of(kRopeChain.scalar) : 0;
      case OperatorKind::kBias:  // a row is added to all; backward it is summed
        return aten && forward ? 1 : 0;
      case OperatorKind::kPermute:  // each of a token's rows
        return op.impl == Impl::kEager && !forward ? static_cast<double>(op.flat()[2]) : 0;
      case OperatorKind::kUnpermute:
        return op.impl == Impl::kEager ? (forward ? 2.0 : 1.0) * static_cast<double>(op.flat()[2]) : 0;
      case OperatorKind::kCopy:  // an eager one joins pieces
        return op.impl == Impl::kEager && forward ? 1.5 : 0;
      default:
        return 0;
    }
  }();
  return passes * static_cast<double>(op.flat()[0]) * static_cast<double>(op.flat()[1]);
}

}  // namespace foretrain
