#include "memory/memory.h"

#include <algorithm>

namespace foretrain {
namespace {

// A loss that keeps nothing is for the log alone, and taken when the passes' tensors are gone.
bool is_metric(const Task& task) {
  return task.op.kind == OperatorKind::kCrossEntropy && task.op.pass == PassKind::kForward &&
         task.saved == Bytes(0) && !task.extra;
}

Bytes largest(const Repeat& repeat) {
  Bytes most;
  for (const Task& task : repeat.tasks)
    if (task.kind == Task::Kind::kOperator && !is_metric(task))
      most = std::max(most, task.extra.value_or(working_bytes(task.op)));
  return most;
}

// Of the tasks of one direction.
Bytes largest(const Pass& pass, Direction direction) {
  Bytes most;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (task.direction == direction && task.kind == Task::Kind::kOperator && !is_metric(task))
        most = std::max(most, task.extra.value_or(working_bytes(task.op)));
  return most;
}

// What graphs of parts of a layer work in is theirs alone: beside it lies what the rest works in, though never both
// are at work. Of the smaller of the two, that is more than one pool for all would need.
Bytes unshared_pool(const ChunkWork& work) {
  Bytes captured, others;
  for (const Pass* pass : {&work.forward, &work.backward})
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks) {
        if (task.kind != Task::Kind::kOperator || is_metric(task)) continue;
        Bytes& most = task.capture == Capture::kPart ? captured : others;
        most = std::max(most, task.extra.value_or(working_bytes(task.op)));
      }
  return std::min(captured, others);
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

// The most inside one of equal layers: what it has made again or kept goes, its gradients come.
Bytes layer_growth(const Repeat& repeat) {
  Bytes most, now = repeat.recomputes;
  for (const Task& task : repeat.tasks) {
    if (task.kind != Task::Kind::kOperator) continue;
    most = std::max(most, now + task.extra.value_or(working_bytes(task.op)));
    now += task.leaves - task.lets_go;
  }
  return most;
}

Bytes backward_growth(const Pass& backward) {
  Bytes most, level;
  for (const Repeat& repeat : backward.repeats) {
    const Bytes each = repeat.gradients + repeat.leaves - repeat.releases;
    const Bytes rest = each * static_cast<double>(repeat.count - 1);
    if (repeat.gradients > Bytes(0))
      most = std::max(most, level + std::max(Bytes(0), rest) + layer_growth(repeat));
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
  const Bytes always = work.gathered + work.shared_buffers + work.offload_window + unshared_pool(work);
  bytes.forward_extra = forward_extra(work.forward, bytes.held) + always;
  bytes.backward_extra = backward_extra(work.backward) + always + work.unit_gradients;
  if (const Bytes growth = backward_growth(work.backward); growth > Bytes(0))
    bytes.backward_growth = growth + always;
  bytes.weight_extra = largest(work.backward, Direction::kWeight) + work.unit_gradients + work.shared_buffers;
  for (const Pass* pass : {&work.forward, &work.backward})
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks) {
        if (task.capture == Capture::kNone || task.kind == Task::Kind::kHost) continue;
        const std::int64_t launches = task.kind == Task::Kind::kOperator ? task.op.launches : 1;
        bytes.graph_nodes += launches * task.times * repeat.count;
        if (task.kind != Task::Kind::kOperator || is_metric(task)) continue;
        bytes.graph_pool = std::max(bytes.graph_pool, task.extra.value_or(working_bytes(task.op)));
        if (pass == &work.forward) bytes.captured += task.saved * static_cast<double>(repeat.count);
      }
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
