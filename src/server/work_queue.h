// Questions on their way to the threads that answer them, bounded: quick ones first, and of those that may take long never
// so many at once that no thread is left for a quick one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "server/message.h"

namespace foretrain {

struct WorkItem {
  std::uint64_t connection = 0;
  HttpRequest request;
  bool heavy = false;
};

class WorkQueue {
 public:
  WorkQueue(std::size_t most_waiting, std::size_t most_heavy)
      : most_waiting_(most_waiting), most_heavy_(most_heavy) {}

  bool add(WorkItem item);  // false: too many wait
  // The next that this thread may answer; none after close(). done() follows each.
  std::optional<WorkItem> take();
  void done(bool heavy);
  void close();  // what waits is dropped

 private:
  const std::size_t most_waiting_, most_heavy_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<WorkItem> quick_, heavy_;
  std::size_t heavy_now_ = 0;
  bool closed_ = false;
};

}  // namespace foretrain
