// Questions on their way to the threads that answer them, bounded: quick ones first, and of those that may take long never
// so many at once that no thread is left for a quick one. What nobody waits for any more is not begun.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "server/message.h"

namespace foretrain {

// One's word that somebody waits for an answer: who holds another's `left` sees whether he still does.
class Waiting {
 public:
  Waiting() = default;
  Waiting(Waiting&&) = default;
  Waiting& operator=(Waiting&&) = delete;
  ~Waiting() {
    if (left_) *left_ = true;
  }
  std::shared_ptr<const std::atomic<bool>> left() const { return left_; }

 private:
  std::shared_ptr<std::atomic<bool>> left_ = std::make_shared<std::atomic<bool>>(false);
};

struct WorkItem {
  std::uint64_t connection = 0;
  HttpRequest request;
  bool heavy = false;
  std::shared_ptr<const std::atomic<bool>> left{};  // null: it is waited for however long

  bool is_left() const { return left && *left; }
};

class WorkQueue {
 public:
  WorkQueue(std::size_t most_waiting, std::size_t most_heavy)
      : most_waiting_(most_waiting), most_heavy_(most_heavy) {}

  bool add(WorkItem item);  // false: too many wait
  // The next that this thread may answer; none after close(). done() follows each.
  std::optional<WorkItem> take();
  void done(const WorkItem& item);
  void drop_left();
  void close();  // what waits is dropped

  std::size_t body_bytes() const;  // of what waits and of what is being answered

 private:
  void drop_left_of(std::deque<WorkItem>& waiting);

  const std::size_t most_waiting_, most_heavy_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<WorkItem> quick_, heavy_;
  std::size_t heavy_now_ = 0, bytes_now_ = 0;  // of those that are taken
  bool closed_ = false;
};

}  // namespace foretrain
