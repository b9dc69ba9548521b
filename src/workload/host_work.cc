#include "workload/host_work.h"

#include <algorithm>
#include <utility>

namespace foretrain {

Task host_task(Direction direction, std::int64_t calls, bool waits) {
  Task task;
  task.kind = Task::Kind::kHost;
  task.direction = direction;
  task.blocking = waits;
  task.calls = calls;
  return task;
}

void add_calls(std::vector<Task>& tasks, std::int64_t calls, bool recompute) {
  const auto counts = [&](const Task& task) { return task.recompute == recompute; };
  const std::int64_t n = std::count_if(tasks.begin(), tasks.end(), counts);
  std::int64_t i = 0;
  for (Task& task : tasks) {
    if (!counts(task)) continue;
    task.calls += (i + 1) * calls / n - i * calls / n;
    ++i;
  }
}

void spread_syncs(std::vector<Task>& tasks, std::int64_t syncs, bool recompute) {
  const auto counts = [&](const Task& task) {
    return task.kind != Task::Kind::kHost && task.recompute == recompute;
  };
  if (syncs == 0) return;
  const std::int64_t n = std::count_if(tasks.begin(), tasks.end(), counts);
  std::vector<Task> out;
  std::int64_t i = 0;
  for (const Task& task : tasks) {
    out.push_back(task);
    if (!counts(task)) continue;
    Task sync = host_task(task.direction, 0, true);
    sync.recompute = recompute;
    sync.device = true;
    for (std::int64_t k = (i + 1) * syncs / n - i * syncs / n; k > 0; --k) out.push_back(sync);
    ++i;
  }
  tasks = std::move(out);
}

void add_host_work(const Stack& stack, const Chunk& chunk, ChunkWork& work) {
  Repeat forward, backward;
  if (stack.host.calls_per_pass[0] > 0)
    forward.tasks.push_back(host_task(Direction::kForward, stack.host.calls_per_pass[0], false));
  if (chunk.first || chunk.last) {
    if (stack.host.calls_per_batch > 0)
      forward.tasks.push_back(host_task(Direction::kForward, stack.host.calls_per_batch, false));
    for (std::int64_t i = 0; i < stack.host.copies_per_batch; ++i)
      forward.tasks.push_back(host_task(Direction::kForward, 1, true));
  }
  if (stack.host.calls_per_pass[1] > 0)
    backward.tasks.push_back(host_task(Direction::kBackward, stack.host.calls_per_pass[1], false));
  const auto put_before = [](Repeat& repeat, Pass& pass) {
    if (!repeat.tasks.empty()) pass.repeats.insert(pass.repeats.begin(), std::move(repeat));
  };
  put_before(forward, work.forward);
  put_before(backward, work.backward);
  if (!stack.host.sync_after_pass) return;
  const auto timer = [](Direction direction) {
    Task task = host_task(direction, 0, true);
    task.device = true;
    return task;
  };
  work.forward.repeats.push_back({1, false, {timer(Direction::kForward)}});
  work.backward.repeats.push_back({1, false, {timer(Direction::kBackward), timer(Direction::kWeight)}});
}

}  // namespace foretrain
