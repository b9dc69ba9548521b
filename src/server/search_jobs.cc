#include "server/search_jobs.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace foretrain {

std::deque<std::shared_ptr<SearchJobs::Job>>::iterator SearchJobs::find(const std::string& id) {
  return std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& job) { return job->id == id; });
}

std::optional<std::string> SearchJobs::start(std::string request, Clock::time_point now) {
  auto job = std::make_shared<Job>();
  job->id = new_id_();
  job->request = std::move(request);
  job->looked_at = now;
  const std::lock_guard lock(mutex_);
  const auto in = [this](State state) {
    return static_cast<std::size_t>(
        std::count_if(jobs_.begin(), jobs_.end(), [state](const auto& j) { return j->state == state; }));
  };
  if (closed_ || in(State::kWaiting) >= limits_.waiting) return std::nullopt;
  if (in(State::kDone) >= limits_.kept)
    jobs_.erase(
        std::find_if(jobs_.begin(), jobs_.end(), [](const auto& j) { return j->state == State::kDone; }));
  jobs_.push_back(job);
  changed_.notify_one();
  return job->id;
}

std::optional<SearchJobs::View> SearchJobs::look(const std::string& id, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto found = find(id);
  if (found == jobs_.end()) return std::nullopt;
  Job& job = **found;
  job.looked_at = now;
  View view{job.state, 0, job.stop, job.progress, job.answer};
  if (job.state == State::kWaiting)
    view.before = static_cast<std::size_t>(
        std::count_if(jobs_.begin(), found, [](const auto& j) { return j->state != State::kDone; }));
  return view;
}

bool SearchJobs::stop(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = find(id);
  if (found == jobs_.end()) return false;
  (*found)->stop = true;
  return true;
}

bool SearchJobs::drop(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = find(id);
  if (found == jobs_.end()) return false;
  (*found)->stop = true;
  jobs_.erase(found);
  return true;
}

std::shared_ptr<SearchJobs::Job> SearchJobs::take(const std::function<Clock::time_point()>& now) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (closed_) return nullptr;
    for (const std::shared_ptr<Job>& job : jobs_) {
      if (job->state != State::kWaiting) continue;
      job->state = State::kRunning;
      job->began_at = now();
      return job;
    }
    changed_.wait(lock);
  }
}

void SearchJobs::note(Job& job, const SearchProgress& progress) {
  const std::lock_guard lock(mutex_);
  job.progress = progress;
}

void SearchJobs::finish(Job& job, Result<std::string> answer, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  job.state = State::kDone;
  job.answer = std::move(answer);
  job.ended_at = now;
}

void SearchJobs::tidy(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(jobs_, [&](const std::shared_ptr<Job>& job) {
    if (job->state == State::kDone) return now - job->ended_at > limits_.kept_for;
    if (job->state == State::kRunning && now - job->began_at > limits_.most_time) job->stop = true;
    const bool abandoned = now - job->looked_at > limits_.abandoned_after;
    if (abandoned) job->stop = true;
    return abandoned;
  });
}

void SearchJobs::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const std::shared_ptr<Job>& job : jobs_) job->stop = true;
  changed_.notify_all();
}

std::size_t SearchJobs::running() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      jobs_.begin(), jobs_.end(), [](const auto& job) { return job->state == State::kRunning; }));
}

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  CHECK_THAT(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace foretrain
