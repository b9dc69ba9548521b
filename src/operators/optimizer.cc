#include "operators/optimizer.h"

#include <algorithm>
#include <cmath>

#include "operators/features.h"
#include "operators/light.h"

namespace foretrain {
namespace {

Bytes accumulated_bytes(const Operator& op) {
  const auto [k, n, grad_bytes] = real_sizes<3>(op);
  return Bytes(k * n * (bytes_of(op.dtype) + 2 * grad_bytes));
}

Bytes accumulate_working(const Operator& op) {
  const auto [k, n] = real_sizes<2>(op);
  return Bytes(bytes_of(op.dtype) * k * n);
}

// Two formats are added element by element.
bool mixes_formats(const Operator& op) {
  return static_cast<double>(op.as<GradientSizes>().grad_bytes) != bytes_of(op.dtype);
}
void add_accumulate_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  add_row_terms(t, op, gpu);
  t.add(mixes_formats(op) ? (bytes(op) / gpu.hbm).value : 0);
}
void add_accumulate_features(Features& f, const Operator& op, const Gpu&) {
  add_light_features(f, op);
  f.add(mixes_formats(op), 0.5);
}

// Bytes an element of the states, as numbers.
struct States {
  double kept;  // the gradient as it was accumulated
  double grad;  // next to a master copy the update works on fp32 gradients
  double weight, moment, master;
};
template <double (*of)(const States& s)>
Bytes list_bytes(const Operator& op) {
  const auto [parameters, tensors, kept, weight, width, master] = real_sizes<6>(op);
  const double moment = moment_bytes(op.as<StateSizes>().widths.moment);
  return Bytes(parameters * of({kept, master > 0 ? 4 : kept, weight, moment, master}));
}
double adamw(const States& s) { return s.grad + 4 * s.moment + 2 * (s.master > 0 ? s.master : s.weight); }
double grad_norm(const States& s) { return s.grad; }
double scale_grads(const States& s) { return 2 * s.grad; }
double cast_grads(const States& s) { return s.kept < s.grad ? s.kept + s.grad : 0; }
double cast_weights(const States& s) { return s.master + s.weight; }
double zero_grads(const States& s) { return s.kept; }

// Bytes of the states follow from the word of the implementation; an operator says fused-bf16 by them alone,
// see impl_of().
void set_states(Operator& op) {
  const bool all_bf16 = op.impl == Impl::kFusedBf16;
  StateSizes sizes{.parameters = 0, .tensors = 0, .widths = all_bf16 ? kNarrowStates : kMixedStates};
  if (op.kind == OperatorKind::kCastGrads)
    sizes.widths.grad = 2;  // kept in half precision, or nothing is cast
  op.set(sizes);
  if (all_bf16) op.impl = Impl::kFused;
}

std::int32_t adamw_launches(const Operator& op) { return op.impl == Impl::kFused ? 8 : 1; }

int list_row_loads(const Operator& op) {
  const auto sizes = op.as<StateSizes>();
  const std::int64_t tensors = std::max<std::int64_t>(sizes.tensors, 1);
  return sizes.parameters % tensors != 0 ? 2 : row_loads(sizes.parameters / tensors);
}

void add_list_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  const auto [parameters, tensors] = real_sizes<2>(op);
  add_light_terms(t, op, gpu, tensors * 1e-6);  // a tensor's share of launches
  const double stream = (bytes(op) / gpu.hbm).value;
  const ListKernels list = list_kernels(op, static_cast<double>(gpu.sms));
  const double waiting = list.steps * 0.5e-6;
  t.add(list.kernels * 1e-6);
  t.add(list.waves * waiting);
  t.add(list.seconds(waiting, stream));
  t.add(list.seconds(2 * waiting, stream));
  t.add(row_loads(op) < 2 ? list.waves * waiting : 0);
}

void add_list_features(Features& f, const Operator& op, const Gpu& gpu) {
  add_light_features(f, op);
  const ListKernels list = list_kernels(op, static_cast<double>(gpu.sms));
  f.add(log2_of(list.waves), 0.25);
  f.add(log2_of(list.steps), 0.25);
}

double tensors_a_kernel(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::kAdamw:
      return op.impl == Impl::kEager ? 64 : 36;
    case OperatorKind::kCastGrads:
    case OperatorKind::kCastWeights:
      return 64;
    default:
      return 110;
  }
}

void set_mixed_states(const Operator& op, Operator& relative) {
  auto sizes = op.as<StateSizes>();
  sizes.widths = kMixedStates;
  relative.set(sizes);
}
constexpr Relative kOfAdamw[] = {{Impl::kFusedBf16, OperatorKind::kAdamw, Impl::kFused, set_mixed_states}};

// An operator over lists of tensors.
constexpr Description of_lists(OperatorKind kind, Bytes (*moved)(const Operator&)) {
  return {.kind = kind,
          .size_names = StateSizes::kNames,
          .set_impl = set_states,
          .bytes = moved,
          .row_loads = list_row_loads,
          .add_terms = add_list_terms,
          .add_features = add_list_features,
          .analytic_spread = 0.25};
}
constexpr Description of_adamw() {
  Description adam = of_lists(OperatorKind::kAdamw, list_bytes<adamw>);
  adam.usual_launches = adamw_launches;
  adam.relatives = kOfAdamw;
  return adam;
}

constinit const Description kTable[] = {
    {.kind = OperatorKind::kAccumulate,
     .size_names = GradientSizes::kNames,
     .usual_impl = Impl::kAten,
     .has_weight = true,
     .bytes = accumulated_bytes,
     .working_bytes = accumulate_working,
     .add_terms = add_accumulate_terms,
     .add_features = add_accumulate_features},
    of_adamw(),
    of_lists(OperatorKind::kGradNorm, list_bytes<grad_norm>),
    of_lists(OperatorKind::kScaleGrads, list_bytes<scale_grads>),
    of_lists(OperatorKind::kCastGrads, list_bytes<cast_grads>),
    of_lists(OperatorKind::kCastWeights, list_bytes<cast_weights>),
    of_lists(OperatorKind::kZeroGrads, list_bytes<zero_grads>),
};

}  // namespace

constinit const std::span<const Description> kOptimizers = kTable;

double ListKernels::seconds(double waiting, double stream) const {
  double sum = 0;
  for (const Wave& wave : each) sum += wave.count * std::max(waiting, stream * wave.blocks / blocks);
  return sum;
}

ListKernels list_kernels(const Operator& op, double sms) {
  constexpr double kChunk = 65536, kBlocks = 320, kStep = 2048;
  const auto sizes = op.as<StateSizes>();
  const double tensors = static_cast<double>(std::max<std::int64_t>(sizes.tensors, 1));
  const double size = static_cast<double>(sizes.parameters) / tensors, chunks = std::ceil(size / kChunk);
  const bool fused_adamw = op.kind == OperatorKind::kAdamw && op.impl != Impl::kEager;
  const double slots = (fused_adamw ? 2 : 4) * sms;
  ListKernels list;
  list.blocks = tensors * chunks;
  list.steps = std::ceil(std::min(size, kChunk) / kStep);
  const double most = std::min(kBlocks, tensors_a_kernel(op) * chunks);
  const double full = std::floor(list.blocks / most), rest = list.blocks - full * most;
  list.kernels = full + (rest > 0 ? 1 : 0);
  std::size_t next = 0;
  const auto add = [&](double kernels, double blocks) {
    const double waves = std::floor(blocks / slots), left = blocks - waves * slots;
    list.each[next++] = {kernels * waves, slots};
    list.each[next++] = {left > 0 ? kernels : 0, left};
    list.waves += kernels * (waves + (left > 0 ? 1 : 0));
  };
  add(full, most);
  add(1, rest);
  return list;
}

}  // namespace foretrain
