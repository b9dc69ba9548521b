#include "server/work_queue.h"

#include <utility>

namespace foretrain {

bool WorkQueue::add(WorkItem item) {
  const std::lock_guard lock(mutex_);
  // Each kind has its own bound, so that heavy ones do not lock out quick ones.
  std::deque<WorkItem>& waiting = item.heavy ? heavy_ : quick_;
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
    if (from != nullptr) {
      WorkItem item = std::move(from->front());
      from->pop_front();
      if (item.heavy) ++heavy_now_;
      return item;
    }
    changed_.wait(lock);
  }
}

void WorkQueue::done(bool heavy) {
  if (!heavy) return;
  const std::lock_guard lock(mutex_);
  --heavy_now_;
  changed_.notify_one();
}

void WorkQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  quick_.clear();
  heavy_.clear();
  changed_.notify_all();
}

}  // namespace foretrain
