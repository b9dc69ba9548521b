#include "memory/memory.h"

#include <algorithm>

namespace foretrain {
namespace {

// The largest tensor that an operator makes.
Bytes made_bytes(const Operator& op) {
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
  const double a = bytes_of(op.dtype);
  switch (op.kind) {
    case OperatorKind::kLinear:
      return Bytes(a * size(0) * size(2));
    case OperatorKind::kBatchedProduct:
      return Bytes(a * size(0) * size(1) * size(3));
    case OperatorKind::kAttention:
      return Bytes(a * size(0) * size(1) * size(3) * size(4));
    case OperatorKind::kGroupedProduct:
      return Bytes(a * size(1) * size(3));
    case OperatorKind::kPermute:
      return Bytes(a * size(0) * size(1) * size(2));
    case OperatorKind::kUnpermute:  // eager, the rows times their weights
      return Bytes(a * size(0) * size(1) * (op.impl == Impl::kEager ? size(2) : 1));
    case OperatorKind::kRoute:
      return Bytes(4 * size(0) * size(1));
    case OperatorKind::kCrossEntropy:
      return Bytes((op.impl == Impl::kEager ? 4 : a) * size(0) * size(1));
    default:
      return Bytes(a * size(0) * size(1));
  }
}

// What an operator needs beside saved tensors while it runs: what it makes and, backward, the gradient that
// comes in.
Bytes working_bytes(const Operator& op) {
  const auto size = [&](int i) { return static_cast<double>(op.flat()[static_cast<std::size_t>(i)]); };
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
    case OperatorKind::kGroupedProduct: {
      const double in = size(1) * size(2), out = size(1) * size(3), weight = size(0) * size(2) * size(3);
      if (op.pass == PassKind::kWeight) return Bytes(a * (out + weight));
      return Bytes(a * (forward ? out : in + out));
    }
    case OperatorKind::kPermute:
      return Bytes(a * size(0) * size(1) * (size(2) + (forward ? 0 : 1)));
    case OperatorKind::kUnpermute: {
      // Eager, the weighed rows; backward the gradient's rows, those weighed, and those times the rows.
      const double rows = eager ? (forward ? 1 : 3) * size(2) : forward ? 0 : size(2);
      return Bytes(a * size(0) * size(1) * (1 + rows));
    }
    case OperatorKind::kRoute:
      return Bytes(4 * chain * size(0) * size(1));
    case OperatorKind::kAttention: {
      const double q = size(0) * size(1) * size(3) * size(4), kv = size(0) * size(2) * size(3) * size(4);
      return Bytes(a * (forward ? q : 2 * q + 2 * kv));
    }
    case OperatorKind::kEmbedding:
      return Bytes(a * (size(0) * size(1) + (forward ? 0 : size(1) * size(2))));
    case OperatorKind::kCrossEntropy:  // eager works on an fp32 copy of the logits
      return made_bytes(op);
    case OperatorKind::kAccumulate:
      return Bytes(a * size(0) * size(1));
    default:
      return Bytes(a * size(0) * size(1) * (forward ? chain : 1 + chain));
  }
}

// A loss that keeps nothing is for the log alone, and taken when the passes' tensors are gone.
bool is_metric(const Task& task) {
  return task.op.kind == OperatorKind::kCrossEntropy && task.op.pass == PassKind::kForward &&
         task.saved == Bytes(0);
}

Bytes largest(const Repeat& repeat) {
  Bytes most;
  for (const Task& task : repeat.tasks)
    if (task.kind == Task::Kind::kOperator && !is_metric(task))
      most = std::max(most, task.extra.value_or(working_bytes(task.op)));
  return most;
}

Bytes largest(const Pass& pass) {
  Bytes most;
  for (const Repeat& repeat : pass.repeats) most = std::max(most, largest(repeat));
  return most;
}

// Above `held`, which counts as there from the start: a layer's operator runs when the layers before it hold.
Bytes forward_extra(const Pass& forward, Bytes held) {
  Bytes most, so_far;
  for (const Repeat& repeat : forward.repeats) {
    so_far += saved_bytes(repeat) * static_cast<double>(repeat.count);
    most = std::max(most, so_far - held + largest(repeat));
  }
  return most;
}

// Above `held` at the start of the backward.
Bytes backward_extra(const Pass& backward) {
  Bytes most, level;
  for (const Repeat& repeat : backward.repeats) {
    const Bytes each = repeat.leaves - repeat.releases;
    const Bytes rest = each * static_cast<double>(repeat.count - 1);
    const Bytes while_it_runs = repeat.recomputes + largest(repeat);
    most = std::max(most, level + std::max(Bytes(0), rest) + while_it_runs);
    level += rest + each;
  }
  return most;
}

}  // namespace

PassBytes pass_bytes(const ChunkWork& work) {
  PassBytes bytes;
  bytes.held = saved_bytes(work.forward);
  bytes.held_for_weight = work.held_for_weight;
  bytes.gathered = work.gathered;
  bytes.shared_buffers = work.shared_buffers;
  bytes.offloaded = work.offloaded;
  const Bytes always = work.gathered + work.shared_buffers + work.offload_window;
  bytes.forward_extra = forward_extra(work.forward, bytes.held) + always;
  bytes.backward_extra = backward_extra(work.backward) + always + work.unit_gradients;
  bytes.weight_extra =
      largest(only(work.backward, Direction::kWeight)) + work.unit_gradients + work.shared_buffers;
  for (const Repeat& repeat : work.backward.repeats)
    bytes.backward_end += repeat.leaves * static_cast<double>(repeat.count);
  for (const Repeat& repeat : work.forward.repeats)
    for (const Task& task : repeat.tasks) {
      if (task.kind != Task::Kind::kOperator) continue;
      const Bytes saved = task.saved * static_cast<double>(repeat.count);
      bytes.saved[static_cast<std::size_t>(task.op.kind)] += saved;
      bytes.largest_block = std::max(bytes.largest_block, made_bytes(task.op));
    }
  return bytes;
}

}  // namespace foretrain
