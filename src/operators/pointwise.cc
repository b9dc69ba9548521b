#include "operators/pointwise.h"

#include <cmath>

#include "operators/light.h"

namespace foretrain {
namespace {

// Bytes of an operator that moves so much an element, where activations take `a` bytes. An eager chain is
// counted kernel by kernel.
template <Traffic (*traffic)(const Operator& op, double a)>
Bytes moved(const Operator& op) {
  return streamed_bytes(op, traffic(op, bytes_of(op.dtype)));
}

// What PyTorch launches for the chain that NeoX runs as library kernels, in accesses an element (a read or a
// write of one tensor). Kernels marked * load one element at a time. Read off the code, and seen so in the
// kernels that PyTorch 2.11 launches on an H200.
// RoPE: x cos + rotate_half(x) sin, scripted; the tables of cos and sin are not counted
//   forward   -x2 (one half) 1*, joined 2*, products and sum in one fused kernel 3*             6
//             (-x2 half a pass; joining takes 1.5 times as long as a broadcast, the fused kernel too)
//   backward  g sin 2*, g cos 2*, -x2 1*, both halves into zeros (1 + 1*) twice, two sums 3      15
constexpr Traffic kRopeAccesses = {6, 15};
constexpr Traffic kRopeScalars = {3.5, 3.5};  // passes of an element through kernels marked *

Traffic rope(const Operator& op, double a) {
  // Eager: x cos + rotate_half(x) sin in neg, cat, products and sums over strided heads; 1.224 and 0.878 ms
  // for 8192 x (4096 + 4096) on our H200.
  if (is_eager(op)) return {39 * a, 28 * a};
  return op.impl == Impl::kAten ? times(kRopeAccesses, a) : Traffic{2 * a, 2 * a};
}

Traffic gelu(const Operator& op, double a) {
  return is_eager(op) ? Traffic{16 * a, 24 * a} : Traffic{2 * a, 3 * a};
}

Traffic squared_relu(const Operator& op, double a) {
  return is_eager(op) ? Traffic{4 * a, 6 * a} : Traffic{2 * a, 3 * a};
}

// Gated activations count an element of one of the two halves: two reads, one write. On the halves of one
// tensor the backward joins their gradients again.
Traffic gated(const Operator& op, double a) {
  if (op.impl == Impl::kHalves) return {5 * a, 13 * a};
  return is_eager(op) ? Traffic{5 * a, 9 * a} : Traffic{3 * a, 5 * a};
}

// A copy, and in it a fill that spreads a column of bytes.
Traffic row_mask(const Operator&, double a) { return {4 * a, 4 * a}; }

// Backward: the gradients of both uses of the input meet.
Traffic add(const Operator&, double a) { return {3 * a, 3 * a}; }

// The backward sums the gradient over tokens.
Traffic bias(const Operator&, double a) { return {2 * a, a}; }
Traffic bias_gelu(const Operator&, double a) { return {2 * a, 4 * a}; }

// Backward: through the dropout, and the bias' sum over tokens.
Traffic bias_dropout_add(const Operator&, double a) { return {3 * a + 1, 3 * a + 1}; }

// With a mask of a byte; a masked fill is in place.
Traffic masked(const Operator&, double a) { return {2 * a + 1, 2 * a + 1}; }

Traffic copied(const Operator&, double a) { return {2 * a, 2 * a}; }

// Elements that pass `passes` times through kernels of one a load.
double scalars(const Operator& op, double passes) {
  const auto [tokens, width] = real_sizes<2>(op);
  return passes * tokens * width;
}
double rope_scalars(const Operator& op) {
  return scalars(op, op.impl == Impl::kAten ? traffic_of(op, kRopeScalars) : op.impl == Impl::kTe ? 1 : 0);
}
double bias_scalars(const Operator& op) {  // a row is added to all; backward it is summed
  return scalars(op, op.impl == Impl::kAten && is_forward(op) ? 1 : 0);
}
double copy_scalars(const Operator& op) {  // an eager one joins pieces
  return scalars(op, is_eager(op) && is_forward(op) ? 1.5 : 0);
}

double gated_scalars(const Operator& op) {  // kernels on strided halves
  return scalars(op, op.impl == Impl::kHalves ? 2 : 0);
}
double row_mask_scalars(const Operator& op) { return scalars(op, 1); }

// On halves of one tensor the gradients of both are there, those of silu, and all of them joined.
Bytes gated_working(const Operator& op) {
  const auto [tokens, width] = real_sizes<2>(op);
  const double chain = op.impl == Impl::kEager ? 2 : 1;
  const double tensors = op.impl == Impl::kHalves ? (is_forward(op) ? 2 : 4)
                         : is_forward(op)         ? chain
                                                  : 1 + chain;
  return Bytes(bytes_of(op.dtype) * tokens * width * tensors);
}

// Launches of an eager chain, one kernel otherwise.
template <std::int32_t forward, std::int32_t backward>
std::int32_t eager_launches(const Operator& op) {
  if (!is_eager(op)) return 1;
  return is_forward(op) ? forward : backward;
}
template <std::int32_t forward, std::int32_t backward>
std::int32_t gated_launches(const Operator& op) {
  if (op.impl == Impl::kHalves) return is_forward(op) ? 2 : 4;
  return eager_launches<forward, backward>(op);
}
std::int32_t row_mask_launches(const Operator&) { return 2; }
std::int32_t rope_launches(const Operator& op) {
  if (op.impl == Impl::kFused || op.impl == Impl::kTe) return 1;
  if (is_eager(op)) return eager_launches<10, 18>(op);
  return is_forward(op) ? 6 : 20;
}

// An eager copy joins pieces: no chain, and nothing between.
Bytes copy_working(const Operator& op) {
  const auto [tokens, width] = real_sizes<2>(op);
  return Bytes(bytes_of(op.dtype) * tokens * width * (is_forward(op) ? 1 : 2));
}

void add_bias_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  add_row_terms(t, op, gpu);
  if (!is_forward(op)) add_column_sum_terms(t, op, gpu, false);
}
void add_bias_features(Features& f, const Operator& op, const Gpu& gpu) {
  add_light_features(f, op);
  if (!is_forward(op)) add_column_sum_features(f, op, gpu);
}

void add_copy_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  add_row_terms(t, op, gpu);
  if (op.impl != Impl::kAten || is_forward(op)) return;
  constexpr double kPage = 4096;
  const auto [tokens, width] = real_sizes<2>(op);
  // What is left of the last page goes by a second kernel.
  t.add(std::fmod(tokens * width * bytes_of(op.dtype), kPage) != 0 ? 1e-6 : 0);
}

// The mask of one square is spread over the others, by a kernel of one element a load.
bool spreads_mask(const Operator& op) {
  const auto sizes = op.as<TokenSizes>();
  return sizes.tokens > sizes.width;
}
void add_masked_fill_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  add_row_terms(t, op, gpu);
  t.add(spreads_mask(op) ? (bytes(op) / gpu.hbm).value : 0);
}
void add_masked_fill_features(Features& f, const Operator& op, const Gpu&) {
  add_light_features(f, op);
  f.add(spreads_mask(op), 0.5);
}

constexpr Relative kOfRope[] = {{Impl::kTe, OperatorKind::kRope, Impl::kFused}};
constexpr Relative kOfGelu[] = {{Impl::kTanh, OperatorKind::kGelu, Impl::kAten}};
template <OperatorKind kind>
constexpr Relative kOfHalves[] = {{Impl::kHalves, kind, Impl::kEager}};
constexpr Relative kOfBiasGelu[] = {{Impl::kFused, OperatorKind::kGelu, Impl::kFused}};

// Public A100 and GH200 samples (published with arXiv 2509.22832) put residual adds at 1 of the bandwidth,
// gelu at 0.7 to 0.85. On our H200 sums of columns, a bias' gradient, reach 0.6 to 0.8.
constinit const Description kTable[] = {
    {.kind = OperatorKind::kRope,
     .size_names = TokenSizes::kNames,
     .bytes = moved<rope>,
     .usual_launches = rope_launches,
     .scalar_elements = rope_scalars,
     .relatives = kOfRope,
     .stream_share = 0.7,
     .library_share = 0.95},
    {.kind = OperatorKind::kGelu,
     .size_names = TokenSizes::kNames,
     .bytes = moved<gelu>,
     .usual_launches = eager_launches<8, 11>,
     .relatives = kOfGelu,
     .stream_share = 0.8},
    {.kind = OperatorKind::kSwiglu,
     .size_names = TokenSizes::kNames,
     .bytes = moved<gated>,
     .usual_launches = gated_launches<2, 3>,
     .scalar_elements = gated_scalars,
     .working_bytes = gated_working,
     .relatives = kOfHalves<OperatorKind::kSwiglu>,
     .stream_share = 0.8},
    {.kind = OperatorKind::kGeglu,
     .size_names = TokenSizes::kNames,
     .bytes = moved<gated>,
     .usual_launches = gated_launches<2, 3>,
     .scalar_elements = gated_scalars,
     .working_bytes = gated_working,
     .relatives = kOfHalves<OperatorKind::kGeglu>,
     .stream_share = 0.8},
    {.kind = OperatorKind::kSquaredRelu,
     .size_names = TokenSizes::kNames,
     .bytes = moved<squared_relu>,
     .usual_launches = eager_launches<2, 4>,
     .stream_share = 0.8},
    {.kind = OperatorKind::kAdd,
     .size_names = TokenSizes::kNames,
     .usual_impl = Impl::kAten,
     .bytes = moved<add>,
     .sampled_without_autograd = true},
    {.kind = OperatorKind::kBias,
     .size_names = TokenSizes::kNames,
     .usual_impl = Impl::kAten,
     .bytes = moved<bias>,
     .scalar_elements = bias_scalars,
     .add_terms = add_bias_terms,
     .add_features = add_bias_features,
     .sampled_without_autograd = true,
     .stream_share = 0.7},
    {.kind = OperatorKind::kBiasGelu,
     .size_names = TokenSizes::kNames,
     .bytes = moved<bias_gelu>,
     .add_terms = add_bias_terms,
     .add_features = add_bias_features,
     .relatives = kOfBiasGelu,
     .stream_share = 0.8},
    {.kind = OperatorKind::kBiasDropoutAdd,
     .size_names = TokenSizes::kNames,
     .bytes = moved<bias_dropout_add>,
     .add_terms = add_bias_terms,
     .add_features = add_bias_features,
     .stream_share = 0.8},
    {.kind = OperatorKind::kDropout,
     .size_names = TokenSizes::kNames,
     .bytes = moved<masked>,
     .stream_share = 0.8},
    {.kind = OperatorKind::kCopy,
     .size_names = TokenSizes::kNames,
     .usual_impl = Impl::kAten,
     .bytes = moved<copied>,
     .scalar_elements = copy_scalars,
     .working_bytes = copy_working,
     .add_terms = add_copy_terms,
     .sampled_without_autograd = true,
     .eager_share = 0.95},
    {.kind = OperatorKind::kMaskedFill,
     .size_names = TokenSizes::kNames,
     .usual_impl = Impl::kAten,
     .bytes = moved<masked>,
     .add_terms = add_masked_fill_terms,
     .add_features = add_masked_fill_features},
    {.kind = OperatorKind::kMaskRows,
     .size_names = TokenSizes::kNames,
     .usual_impl = Impl::kEager,
     .bytes = moved<row_mask>,
     .usual_launches = row_mask_launches,
     .scalar_elements = row_mask_scalars,
     .stream_share = 0.7},
};

}  // namespace

constinit const std::span<const Description> kPointwise = kTable;

}  // namespace foretrain
