// Work that several threads share.
#pragma once

#include <functional>
#include <thread>

namespace foretrain {

// Calls work(0) on this thread and work(1), ..., work(wanted - 1) on one more thread each; returns once all
// calls have ended, with how many there were. Where the system gives fewer threads the last calls are not
// made, so each call has to take its share of whatever is left to do. What a call throws is thrown again
// here, after the end of all others.
//
// REQUIRES: wanted >= 1
int run_on_threads(int wanted, const std::function<void(int)>& work);

// Work that goes on beside its caller, on a thread of its own, until it has ended; its destructor waits for that. Where
// the system gives no thread the constructor throws (std::system_error). What the work throws ends the program, so it
// must not.
class Beside {
 public:
  explicit Beside(std::function<void()> work) : thread_(std::move(work)) {}

 private:
  std::jthread thread_;
};

}  // namespace foretrain
