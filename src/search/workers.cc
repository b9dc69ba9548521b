#include "search/workers.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/threads.h"

namespace foretrain {

Workers::Workers(Evaluators& evaluators, int wanted) : evaluators_(evaluators), wanted_(wanted) {
  if (wanted_ <= 0) wanted_ = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  had_ = wanted_;
  evaluators_.make_room(static_cast<std::size_t>(wanted_));
}

void Workers::each(std::size_t count, std::size_t at_once,
                   const std::function<void(std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto loop = [&](int thread) {
    try {
      for (std::size_t i = next.fetch_add(at_once); i < count; i = next.fetch_add(at_once))
        for (std::size_t k = i; k < std::min(count, i + at_once); ++k)
          work(k, static_cast<std::size_t>(thread));
    } catch (...) {
      next = count;
      throw;
    }
  };
  had_ = std::min(had_, run_on_threads(wanted_, loop));
}

}  // namespace foretrain
