#include "server/work_queue.h"

#include <numeric>
#include <utility>

namespace foretrain {

void WorkQueue::drop_left_of(std::deque<WorkItem>& waiting) {
  std::erase_if(waiting, [](const WorkItem& item) { return item.is_left(); });
}

bool WorkQueue::add(WorkItem item) {
  const std::lock_guard lock(mutex_);
  // Each kind has its own bound, so that heavy ones do not lock out quick ones.
  std::deque<WorkItem>& waiting = item.heavy ? heavy_ : quick_;
  if (waiting.size() >= most_waiting_) drop_left_of(waiting);
  if (closed_ || waiting.size() >= most_waiting_) return false;
  waiting.push_back(std::move(item));
  changed_.notify_one();
  return true;
}

std::optional<WorkItem> WorkQueue::take() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (closed_) return std::nullopt;
    std::deque<WorkItem>* from = !quick_.empty()                               ? &quick_
                                 : !heavy_.empty() && heavy_now_ < most_heavy_ ? &heavy_
                                                                               : nullptr;
    if (from == nullptr) {
      changed_.wait(lock);
      continue;
    }
    WorkItem item = std::move(from->front());
    from->pop_front();
    if (item.is_left()) continue;
    if (item.heavy) ++heavy_now_;
    bytes_now_ += item.request.body.size();
    return item;
  }
}

void WorkQueue::done(const WorkItem& item) {
  const std::lock_guard lock(mutex_);
  bytes_now_ -= item.request.body.size();
  if (!item.heavy) return;
  --heavy_now_;
  changed_.notify_one();
}

void WorkQueue::drop_left() {
  const std::lock_guard lock(mutex_);
  drop_left_of(quick_);
  drop_left_of(heavy_);
}

void WorkQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  quick_.clear();
  heavy_.clear();
  changed_.notify_all();
}

std::size_t WorkQueue::body_bytes() const {
  const std::lock_guard lock(mutex_);
  const auto sum = [](const std::deque<WorkItem>& waiting) {
    return std::accumulate(
        waiting.begin(), waiting.end(), std::size_t{0},
        [](std::size_t bytes, const WorkItem& item) { return bytes + item.request.body.size(); });
  };
  return bytes_now_ + sum(quick_) + sum(heavy_);
}

}  // namespace foretrain
