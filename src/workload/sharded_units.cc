#include "workload/sharded_units.h"

#include <algorithm>

#include "operators/pointwise.h"
#include "workload/parameter_share.h"

namespace foretrain {

void UnitWriter::gather(std::vector<Task>& tasks, std::int64_t elements, Direction direction) const {
  Task task = collective(CollectiveKind::kAllGather, GroupKind::kShard, weight_bytes(elements), direction);
  task.prefetch = stack_.data_parallel.prefetch[direction == Direction::kForward ? 0 : 1];
  tasks.insert(tasks.begin(), task);
}

void UnitWriter::scatter(std::vector<Task>& tasks, std::int64_t elements) {
  const Bytes whole(static_cast<double>(elements) * bytes_of(shape_.units.reduce_dtype));
  copy(tasks, elements);
  tasks.push_back(collective(CollectiveKind::kReduceScatter, GroupKind::kShard, whole, Direction::kWeight));
  if (shape_.units.replicated)
    tasks.push_back(collective(CollectiveKind::kAllReduce, GroupKind::kReplica,
                               whole / static_cast<double>(shape_.units.shards), Direction::kWeight));
  // As autograd made them, and once more in the format of the reduction, where that is wider.
  const bool wider = bytes_of(shape_.units.reduce_dtype) > bytes_of(shape_.precision);
  const double buffers = static_cast<double>(stack_.data_parallel.reduce_buffers) - (wider ? 0 : 1);
  const Bytes gradients = weight_bytes(elements) + whole * buffers;
  work_.unit_gradients = std::max(work_.unit_gradients, gradients);
}

void UnitWriter::unit(Repeat& forward, Repeat& backward, std::int64_t elements, bool is_block) {
  const UnitSharding& units = shape_.units;
  if (elements == 0) return;
  if (units.gathers_forward) gather(forward.tasks, elements, Direction::kForward);
  if (units.gathers_backward && is_block) gather(backward.tasks, elements, Direction::kBackward);
  if (units.scatters) scatter(backward.tasks, elements);
  if (!is_block && (units.keeps_gathered || units.gathers_backward)) work_.gathered += weight_bytes(elements);
}

void UnitWriter::keep_blocks(std::int64_t elements, std::int64_t blocks) {
  if (shape_.units.keeps_gathered) work_.gathered += weight_bytes(elements) * static_cast<double>(blocks);
}

void UnitWriter::hold_blocks(std::int64_t elements, std::int64_t blocks) {
  if (shape_.units.keeps_gathered || !shape_.units.gathers_backward) return;
  const bool ahead = stack_.data_parallel.prefetch[0] != Prefetch::kNone ||
                     stack_.data_parallel.prefetch[1] != Prefetch::kNone;
  const std::int64_t at_once = std::min(blocks, ahead ? stack_.data_parallel.gathered_units : 1);
  work_.gathered += weight_bytes(elements) * static_cast<double>(at_once);
}

std::int64_t UnitWriter::elements(const Chunk& part, bool ends_together) const {
  return parameter_share(model_, stack_, shape_.tp, part, ends_together).elements;
}

Bytes UnitWriter::weight_bytes(std::int64_t elements) const {
  return Bytes(static_cast<double>(elements) * bytes_of(shape_.precision));
}

void UnitWriter::copy(std::vector<Task>& tasks, std::int64_t elements) const {
  if (stack_.data_parallel.gradient_copies == 0) return;
  Task task;
  const TokenSizes sizes = {.tokens = (elements + model_.hidden - 1) / model_.hidden, .width = model_.hidden};
  task.op = pointwise(OperatorKind::kCopy, sizes, {.dtype = shape_.precision});
  task.times = stack_.data_parallel.gradient_copies;
  task.direction = Direction::kWeight;
  tasks.push_back(task);
}

// Into or out of a buffer of its own, so not in place.
Task UnitWriter::collective(CollectiveKind kind, GroupKind group, Bytes bytes, Direction direction) const {
  Task task;
  task.kind = Task::Kind::kCollective;
  task.collective = {kind, group, bytes};
  task.direction = direction;
  task.blocking = direction == Direction::kWeight && !shape_.units.beside;
  task.calls = group == GroupKind::kShard ? stack_.host.calls_per_unit : 0;
  return task;
}

}  // namespace foretrain
