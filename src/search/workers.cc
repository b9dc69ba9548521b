#include "search/workers.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads.h"

namespace foretrain {

Workers::Workers(Evaluators& evaluators, int wanted, std::function<bool()> beside)
    : evaluators_(evaluators), beside_(std::move(beside)), wanted_(wanted) {
  if (wanted_ <= 0) wanted_ = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  had_ = wanted_;
  evaluators_.make_room(static_cast<std::size_t>(wanted_));
}

namespace {

// Work in a row, dealt to threads. Each begins with a stretch of its own, and where that is done takes over half of the
// longest that another has left.
class Deal {
 public:
  Deal(std::size_t count, std::size_t at_once, std::size_t threads) : at_once_(at_once), own_(threads) {
    for (std::size_t t = 0; t < threads; ++t) own_[t] = {count * t / threads, count * (t + 1) / threads};
  }

  struct Stretch {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };

  // Empty: nothing is left.
  Stretch next(std::size_t thread) {
    const std::lock_guard lock(mutex_);
    Stretch& own = own_[thread];
    if (own.size() == 0) {
      Stretch& most = *std::max_element(
          own_.begin(), own_.end(), [](const Stretch& a, const Stretch& b) { return a.size() < b.size(); });
      const std::size_t middle = most.begin + most.size() / 2;
      own = {middle, std::exchange(most.end, middle)};
    }
    const Stretch taken{own.begin, std::min(own.end, own.begin + at_once_)};
    own.begin = taken.end;
    return taken;
  }

  void end() {
    const std::lock_guard lock(mutex_);
    std::fill(own_.begin(), own_.end(), Stretch{});
  }

 private:
  std::size_t at_once_;
  std::vector<Stretch> own_;
  std::mutex mutex_;
};

}  // namespace

void Workers::each(std::size_t count, std::size_t at_once,
                   const std::function<void(std::size_t, std::size_t)>& work) {
  Deal deal(count, at_once, static_cast<std::size_t>(wanted_));
  std::atomic<int> busy = 0;
  const auto loop = [&](int thread) {
    const auto own = static_cast<std::size_t>(thread);
    ++busy;
    try {
      for (Deal::Stretch some = deal.next(own); some.size() > 0; some = deal.next(own))
        for (std::size_t i = some.begin; i < some.end; ++i) work(i, own);
    } catch (...) {
      --busy;
      deal.end();
      throw;
    }
    --busy;
    while (beside_ && busy > 0 && beside_()) {
    }
  };
  had_ = std::min(had_, run_on_threads(wanted_, loop));
}

}  // namespace foretrain
