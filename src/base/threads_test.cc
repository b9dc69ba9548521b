#include "base/threads.h"

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <new>
#include <set>
#include <thread>

namespace foretrain {
namespace {

TEST_SUITE_BEGIN("threads");

TEST_CASE("each call has its number and a thread of its own, the first this one") {
  std::mutex mutex;
  std::set<int> numbers;
  std::set<std::thread::id> threads;
  std::thread::id first;
  std::atomic<int> there = 0;
  const int made = run_on_threads(4, [&](int i) {
    ++there;
    while (there < 4) std::this_thread::yield();  // none has ended before all have begun
    const std::scoped_lock lock(mutex);
    numbers.insert(i);
    threads.insert(std::this_thread::get_id());
    if (i == 0) first = std::this_thread::get_id();
  });
  CHECK(made == 4);
  CHECK(numbers == std::set<int>{0, 1, 2, 3});
  CHECK(threads.size() == 4);
  CHECK(first == std::this_thread::get_id());
}

TEST_CASE("what any call throws reaches the caller, once all have ended") {
  for (const int thrower : {0, 2}) {
    std::atomic<int> ended = 0;
    CHECK_THROWS_AS(run_on_threads(3,
                                   [&](int i) {
                                     ++ended;
                                     if (i == thrower) throw std::bad_alloc();
                                   }),
                    std::bad_alloc);
    CHECK(ended == 3);
  }
}

TEST_CASE("work beside its caller has ended when whoever waits for it goes on") {
  std::atomic<bool> go = false, done = false;
  {
    const Beside beside([&] {
      while (!go) std::this_thread::yield();
      done = true;
    });
    CHECK_FALSE(done);  // its caller is here before it
    go = true;
  }
  CHECK(done);
}

TEST_SUITE_END();

}  // namespace
}  // namespace foretrain
