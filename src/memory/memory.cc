#include "memory/memory.h"

#include <algorithm>

namespace foretrain {
namespace {

// The largest tensor an operator makes while it runs.
Bytes working_bytes(const Operator& op) {
  const auto size = [&](int i) { return static_cast<double>(op.sizes[static_cast<std::size_t>(i)]); };
  const double a = bytes_of(op.dtype);
  const bool forward = op.pass == PassKind::kForward;
  switch (op.kind) {
    case OperatorKind::kLinear:
      if (op.pass == PassKind::kWeight) return Bytes(a * size(1) * size(2));
      return Bytes(a * size(0) * (forward ? size(2) : size(1)));
    case OperatorKind::kBatchedProduct:
      return Bytes(a * size(0) * (forward ? size(1) * size(3) : size(1) * size(2) + size(2) * size(3)));
    case OperatorKind::kAttention:
      return Bytes(a * size(0) * size(1) * size(3) * size(4) * (forward ? 1 : 3));
    case OperatorKind::kEmbedding:
      return Bytes(a * (forward ? size(0) * size(1) : size(1) * size(2)));
    case OperatorKind::kCrossEntropy:  // eager works on an fp32 copy of the logits
      return Bytes((op.impl == Impl::kEager ? 4 : a) * size(0) * size(1));
    default:
      return Bytes(a * size(0) * size(1) * (op.impl == Impl::kEager ? 3 : 1));
  }
}

Bytes largest(const Pass& pass) {
  Bytes most;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kOperator) most = std::max(most, working_bytes(task.op));
  return most;
}

}  // namespace

StateBytes state_bytes(const ParameterShare& share, const Stack& stack, Dtype precision, Dtype grad_dtype,
                       int zero, std::int64_t dp) {
  const double n = static_cast<double>(share.elements);
  const double shards = zero >= 1 ? static_cast<double>(dp) : 1.0;
  const double master = stack.master_weights && precision != Dtype::kFp32 ? 4 : 0;
  return {Bytes(n * bytes_of(precision)), Bytes(n * bytes_of(grad_dtype)),
          Bytes(n * (master + 2 * bytes_of(stack.moment_dtype)) / shards)};
}

PassBytes pass_bytes(const ChunkWork& work) {
  // A backward has the gradient of an operator's output beside what it makes: twice its largest tensor.
  return {saved_bytes(work.forward), largest(work.forward), work.recomputed + 2.0 * largest(work.backward)};
}

Allowance allowance(bool several_gpus) { return {gib(several_gpus ? 1.5 : 0.7), 0.05}; }

}  // namespace foretrain
