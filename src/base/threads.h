// Work that several threads share.
#pragma once

#include <functional>

namespace foretrain {

// Calls work(0) on this thread and work(1), ..., work(wanted - 1) on one more thread each; returns once all
// calls have ended, with how many there were. Where the system gives fewer threads the last calls are not
// made, so each call has to take its share of whatever is left to do. What a call throws is thrown again
// here, after the end of all others.
//
// REQUIRES: wanted >= 1
int run_on_threads(int wanted, const std::function<void(int)>& work);

}  // namespace foretrain
