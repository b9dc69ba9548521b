// Searches that people wait for: a few run, some wait their turn, and answers are kept until they are fetched. Knows
// nothing of HTTP. A job whose owner no longer looks is stopped, so that who closed a page gives the machine back.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "search/engine.h"

namespace foretrain {

struct SearchJobLimits {
  std::size_t waiting = 8;
  std::size_t kept = 32;  // answers, the oldest of which goes
  std::chrono::seconds kept_for{600};
  std::chrono::seconds most_time{600};        // that one may run: then it tells the best so far
  std::chrono::seconds abandoned_after{150};  // browsers let a hidden page look once a minute
};

class SearchJobs {
 public:
  using Clock = std::chrono::steady_clock;

  enum class State : unsigned char { kWaiting, kRunning, kDone };
  struct Job {
    std::string id;
    std::string request;
    std::atomic<bool> stop = false;
    // Guarded by the jobs' mutex:
    State state = State::kWaiting;
    Clock::time_point looked_at{};
    Clock::time_point began_at{};
    Clock::time_point ended_at{};
    std::optional<SearchProgress> progress{};
    std::optional<Result<std::string>> answer{};
  };
  struct View {  // of a job at a moment
    State state = State::kWaiting;
    std::size_t before = 0;  // of a waiting one: how many go first, those that run among them
    bool stopping = false;
    std::optional<SearchProgress> progress;
    std::optional<Result<std::string>> answer;
  };

  // `new_id` gives names that nobody can guess.
  SearchJobs(const SearchJobLimits& limits, std::function<std::string()> new_id)
      : limits_(limits), new_id_(std::move(new_id)) {}

  // The id of a new job; none: too many wait.
  std::optional<std::string> start(std::string request, Clock::time_point now);
  std::optional<View> look(const std::string& id, Clock::time_point now);
  bool stop(const std::string& id);
  bool drop(const std::string& id);

  // For who runs them: the next job, once there is one; null after close().
  std::shared_ptr<Job> take(const std::function<Clock::time_point()>& now = Clock::now);
  void note(Job& job, const SearchProgress& progress);
  void finish(Job& job, Result<std::string> answer, Clock::time_point now);

  // Stops what nobody looks at and what takes too long, and forgets what nobody fetched.
  void tidy(Clock::time_point now);
  void close();  // stops all, and lets nobody in

  std::size_t running() const;

 private:
  std::deque<std::shared_ptr<Job>>::iterator find(const std::string& id);

  SearchJobLimits limits_;
  std::function<std::string()> new_id_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;  // in the order in which they were started
  bool closed_ = false;
};

std::string random_id();  // 128 bits from the system, as 32 hexadecimal digits

}  // namespace foretrain
