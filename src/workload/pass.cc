#include "workload/pass.h"

namespace foretrain {

bool on_data_stream(const Task& task) {
  using enum GroupKind;
  const GroupKind group = task.collective.group;
  return task.kind == Task::Kind::kCollective &&
         (group == kShard || group == kReplica || group == kExpertShard || group == kExpertReplica);
}

Pass only(const Pass& pass, Direction direction) {
  Pass result;
  for (const Repeat& repeat : pass.repeats) {
    std::vector<Task> tasks;
    for (const Task& task : repeat.tasks)
      if (task.direction == direction) tasks.push_back(task);
    if (!tasks.empty())
      result.repeats.push_back({repeat.count, repeat.is_layer, std::move(tasks), repeat.releases,
                                repeat.recomputes, repeat.leaves});
  }
  return result;
}

Flops flops(const Pass& pass) {
  Flops sum;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kOperator)
        sum += flops(task.op) * static_cast<double>(task.times * repeat.count);
  return sum;
}

Bytes saved_bytes(const Pass& pass) {
  Bytes sum;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks) sum += task.saved * static_cast<double>(repeat.count);
  return sum;
}

Bytes saved_bytes(const Repeat& repeat) {
  Bytes sum;
  for (const Task& task : repeat.tasks) sum += task.saved;
  return sum;
}

std::int64_t launches(const Pass& pass) {
  std::int64_t sum = 0;
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks)
      if (task.kind == Task::Kind::kOperator) sum += task.op.launches * task.times * repeat.count;
  return sum;
}

}  // namespace foretrain
