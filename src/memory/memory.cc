#include "memory/memory.h"

#include <algorithm>

namespace foretrain {
namespace {

// What an operator needs beside saved tensors while it runs: what it makes and, backward, the gradient that
// comes in.
Bytes working_bytes(const Operator& op) {
  const auto size = [&](int i) { return static_cast<double>(op.sizes[static_cast<std::size_t>(i)]); };
  const double a = bytes_of(op.dtype);
  const bool forward = op.pass == PassKind::kForward;
  const bool eager = op.impl == Impl::kEager && op.kind != OperatorKind::kCopy;
  const double chain = eager ? 2 : 1;  // an eager chain holds one intermediate result more
  switch (op.kind) {
    case OperatorKind::kLinear: {
      const double in = size(0) * size(1), out = size(0) * size(2), weight = size(1) * size(2);
      if (op.pass == PassKind::kWeight) return Bytes(a * (out + weight));
      return Bytes(a * (forward ? out : in + out));
    }
    case OperatorKind::kBatchedProduct: {
      const double out = size(1) * size(3), in = size(1) * size(2) + size(2) * size(3);
      return Bytes(a * size(0) * (forward ? out : in + out));
    }
    case OperatorKind::kAttention: {
      const double q = size(0) * size(1) * size(3) * size(4), kv = size(0) * size(2) * size(3) * size(4);
      return Bytes(a * (forward ? q : 2 * q + 2 * kv));
    }
    case OperatorKind::kEmbedding:
      return Bytes(a * (size(0) * size(1) + (forward ? 0 : size(1) * size(2))));
    case OperatorKind::kCrossEntropy:  // eager works on an fp32 copy of the logits
      return Bytes((op.impl == Impl::kEager ? 4 : a) * size(0) * size(1));
    case OperatorKind::kAccumulate:
      return Bytes(a * size(0) * size(1));
    default:
      return Bytes(a * size(0) * size(1) * (forward ? chain : 1 + chain));
  }
}

// Most that a pass holds at once beside what is saved. A block that is run again is there only while its own
// backward is.
Bytes largest(const Pass& pass, Bytes recomputed = Bytes(0)) {
  Bytes most;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kOperator)
        most = std::max(
            most, task.extra.value_or(working_bytes(task.op)) + (repeat.is_layer ? recomputed : Bytes(0)));
  return most;
}

}  // namespace

StateBytes state_bytes(const ParameterShare& share, const Stack& stack, Dtype precision, Dtype grad_dtype,
                       int zero, std::int64_t shards) {
  const double n = static_cast<double>(share.elements);
  const auto divided_from = [&](int level) { return zero >= level ? n / static_cast<double>(shards) : n; };
  const double master = stack.master_weights && precision != Dtype::kFp32 ? 4 : 0;
  const bool casts = master > 0 && bytes_of(grad_dtype) < master &&
                     std::any_of(stack.optimizer.begin(), stack.optimizer.end(),
                                 [](const PartOperator& op) { return op.kind == OperatorKind::kCastGrads; });
  return {Bytes(divided_from(3) * bytes_of(precision)), Bytes(divided_from(2) * bytes_of(grad_dtype)),
          Bytes(divided_from(1) * (master + 2 * bytes_of(stack.moment_dtype))),
          Bytes(casts ? divided_from(1) * master : 0)};
}

PassBytes pass_bytes(const ChunkWork& work) {
  return {saved_bytes(work.forward), largest(work.forward) + work.gathered,
          largest(work.backward, work.recomputed) + work.gathered + work.unit_gradients, work.held_for_weight,
          largest(only(work.backward, Direction::kWeight)) + work.unit_gradients};
}

Bytes allocated_bytes(const StateBytes& states, Bytes passes, const Stack& stack,
                      std::int64_t micro_batches) {
  // Lazy gradients appear layer by layer while activations go: the larger of the two is the peak.
  const Bytes in_passes = stack.lazy_gradients && micro_batches == 1
                              ? states.weights + states.optimizer + std::max(states.gradients, passes)
                              : states.total() + passes;
  return std::max(in_passes, states.total() + states.step_copy);
}

Allowance allowance(bool several_gpus) { return {gib(several_gpus ? 1.5 : 0.7), 0.05}; }

}  // namespace foretrain
