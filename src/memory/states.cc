#include "memory/states.h"

#include <algorithm>
#include <utility>

#include "operators/optimizer.h"

namespace foretrain {
namespace {

// X, X X' and its polynomial while Newton-Schulz iterates on a matrix in bf16 (Jordan et al. 2024).
constexpr double kIterates = 3;

// What the weights of one class take, all but what an update needs besides.
StateBytes class_bytes(const WeightShare& share, Bytes frozen, WeightClass weights, const Stack& stack,
                       const Job& job) {
  const Choices& c = job.choices;
  const int zero = c.sharding.zero;
  const std::int64_t shards = c.sharding.shards[weights];
  const double n = static_cast<double>(share.elements);
  const auto divided_from = [&](int level, double bytes) {
    return Bytes(zero >= level ? bytes / static_cast<double>(shards) : bytes);
  };
  // Two moments an element; of the blocks' matrices Muon keeps one.
  const double moment = moment_bytes(c.moment_width);
  double moments = 2 * n * moment;
  if (c.optimizer == OptimizerKind::kMuon) moments -= static_cast<double>(share.matrix_elements) * moment;

  StateBytes states;
  if (stack.states.fp32_weights) {
    // The copies for use are units of the passes under ZeRO 3, and there from forward to backward below it.
    const double parts = c.sharding.units.gathers_forward ? static_cast<double>(shards) : 1.0;
    states.weights = Bytes(n * 4 / parts);
    if (zero < 3 && c.precision != Dtype::kFp32) states.weights += Bytes(n * bytes_of(c.precision));
  } else {
    states.weights = divided_from(3, n * bytes_of(c.trained_dtype));
    // Of the blocks' matrices, copies in fewer bits beside, or in place of, those of the passes.
    if (c.low.is_narrow() && !c.adapters.frozen())
      states.weights += divided_from(
          3, static_cast<double>(share.narrow_elements) * (c.low.weight_bytes() - bytes_of(c.precision)));
  }
  // Below ZeRO 3 they are whole from forward to backward, wherever they lie between steps.
  if (frozen > Bytes(0)) states.weights += divided_from(3, frozen.value);
  states.gradients = divided_from(2, n * bytes_of(c.grad_dtype));
  states.optimizer = divided_from(1, n * (c.keeps_master ? 4 : 0) + moments);
  if (c.offload_optimizer) {
    states.host = states.optimizer;
    states.optimizer = Bytes(0);
    if (zero >= 2) states.host += std::exchange(states.gradients, Bytes(0));
  }
  // The moments alone: the fp32 copy is a plain tensor.
  if (c.paged && !c.offload_optimizer) {
    states.paged = divided_from(1, moments);
    states.optimizer = states.optimizer - states.paged;
  }
  if (stack.data_parallel.bucket_buffers && zero == 0 && job.mesh.data_ranks(weights) > 1)
    states.buffers = Bytes(n * bytes_of(c.precision));

  const bool casts = c.keeps_master && !c.offload_optimizer && bytes_of(c.grad_dtype) < 4 &&
                     std::any_of(stack.parts.optimizer.begin(), stack.parts.optimizer.end(),
                                 [](const PartOperator& op) { return op.kind == OperatorKind::kCastGrads; });
  if (casts) states.step_copy = divided_from(1, n * 4);
  if (zero == 1 && shards > 1 && stack.data_parallel.gather_copies > 0) {
    const Bytes whole(n * bytes_of(c.trained_dtype));
    states.gather_copies = whole * static_cast<double>(stack.data_parallel.gather_copies);
    states.gather_block = whole;
    if (stack.data_parallel.gather_copies > 1) states.gather_pieces = whole / static_cast<double>(shards);
  }
  return states;
}

// Weights as they lie in the run, whole where the stack loads them so, and one matrix that is being quantised.
Bytes loading_bytes(const ParameterShare& share, Bytes kept, const Stack& stack, const Job& job) {
  const Choices& c = job.choices;
  Bytes bytes = kept;
  if (stack.adapters.loads_whole) {
    bytes = Bytes(static_cast<double>(share.elements) * bytes_of(c.trained_dtype));
    for (const WeightClass weights : kWeightClasses)
      bytes += share.frozen.bytes(weights, c.adapters, c.precision);
  }
  if (c.adapters.quantised())
    bytes += Bytes(static_cast<double>(share.frozen.largest_quantised) * bytes_of(c.precision));
  return bytes;
}

}  // namespace

StateBytes state_bytes(const ParameterShare& share, const Stack& stack, const Job& job) {
  const auto frozen = [&](WeightClass weights) {
    const Choices& c = job.choices;
    const Bytes bytes = share.frozen.bytes(weights, c.adapters, c.precision);
    if (!c.low.is_narrow() || c.adapters.quantised()) return bytes;
    return bytes + Bytes(static_cast<double>(share.frozen.narrow[weights]) *
                         (c.low.weight_bytes() - bytes_of(c.precision)));
  };
  StateBytes states = class_bytes(share.of(WeightClass::kCommon), frozen(WeightClass::kCommon),
                                  WeightClass::kCommon, stack, job);
  if (share.experts.elements > 0 || share.frozen.elements[WeightClass::kExperts] > 0) {
    const StateBytes experts =
        class_bytes(share.experts, frozen(WeightClass::kExperts), WeightClass::kExperts, stack, job);
    states.weights += experts.weights;
    states.gradients += experts.gradients;
    states.optimizer += experts.optimizer;
    states.buffers += experts.buffers;
    states.paged += experts.paged;
    states.host += experts.host;
    states.step_copy += experts.step_copy;
    states.gather_copies += experts.gather_copies;
    states.gather_block = std::max(states.gather_block, experts.gather_block);
    states.gather_pieces = std::max(states.gather_pieces, experts.gather_pieces);
  }
  if (job.choices.adapters.frozen()) states.loading = loading_bytes(share, states.weights, stack, job);
  if (job.choices.optimizer == OptimizerKind::kMuon && share.matrix_elements > 0)
    states.step_copy += Bytes(kIterates * bytes_of(Dtype::kBf16) * static_cast<double>(share.largest_matrix));
  return states;
}

}  // namespace foretrain
