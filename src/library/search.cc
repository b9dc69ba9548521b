// Handles of searches (foretrain.h): each has a session and a thread of its own, which starts those that look at plans.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <foretrain/foretrain.h>
#include "ask/guard.h"
#include "base/threads.h"
#include "library/border.h"
#include "library/session.h"
#include "wire/search_question.h"

namespace foretrain {
namespace {

constexpr double kLongestWait = 1e8;  // seconds; three years

class OpenSearch {
 public:
  static Result<std::unique_ptr<OpenSearch>> start(std::shared_ptr<Place> place, std::string_view request) {
    std::unique_ptr<OpenSearch> search(new OpenSearch(std::move(place)));
    TRY_ASSIGN(search->question_, search->session_->prepare_search(request));
    SearchOptions& options = search->question_.prepared().options;
    options.stop = &search->stop_;
    options.progress = [s = search.get()](const SearchProgress& progress) { s->note(progress); };
    search->beside_.emplace([s = search.get()] { s->run(); });
    return search;
  }
  OpenSearch(const OpenSearch&) = delete;
  OpenSearch& operator=(const OpenSearch&) = delete;
  ~OpenSearch() {
    stop();
    beside_.reset();  // waits
    if (answer_ && (*answer_ || answer_->error().kind == ErrorKind::kInput))
      place_->sessions().give(std::move(session_));
  }

  void stop() { stop_ = true; }

  std::string progress() {
    const std::lock_guard lock(mutex_);
    return progress_json(progress_);
  }

  bool wait(double seconds) {
    std::unique_lock lock(mutex_);
    const std::chrono::duration<double> most(std::clamp(seconds, 0.0, kLongestWait));
    return ended_.wait_for(lock, most, [this] { return answer_.has_value(); });
  }

  // REQUIRES: it has ended
  const Result<std::string>& answer() const { return *answer_; }

 private:
  explicit OpenSearch(std::shared_ptr<Place> place)
      : place_(std::move(place)), session_(place_->sessions().take()) {}

  void note(const SearchProgress& progress) {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  }

  void run() {
    Result<std::string> answer = session_->answer(question_);
    {
      const std::lock_guard lock(mutex_);
      answer_ = std::move(answer);
    }
    ended_.notify_all();
  }

  std::shared_ptr<Place> place_;
  std::unique_ptr<JsonSession> session_;
  SearchQuestion question_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // of what follows
  std::condition_variable ended_;
  SearchProgress progress_;
  std::optional<Result<std::string>> answer_;
  std::optional<Beside> beside_;
};

}  // namespace
}  // namespace foretrain

using namespace foretrain;

struct foretrain_search {
  std::unique_ptr<OpenSearch> open;
};

foretrain_search* foretrain_search_start(foretrain_session* session, const char* request) {
  return at_border<foretrain_search*>(nullptr, [&]() -> Result<foretrain_search*> {
    TRY(present(session, "session"));
    auto search = std::make_unique<foretrain_search>();
    TRY_ASSIGN(search->open, OpenSearch::start(session->place, request == nullptr ? "" : request));
    return search.release();
  });
}

char* foretrain_search_progress(foretrain_search* search) {
  return at_border<char*>(nullptr, [&]() -> Result<char*> {
    TRY(present(search, "search"));
    return given_away(search->open->progress());
  });
}

int foretrain_search_wait(foretrain_search* search, double seconds) {
  return at_border<int>(-1, [&]() -> Result<int> {
    TRY(present(search, "search"));
    if (!(seconds >= 0)) return fail_field("seconds", "expected 0 or more");
    return search->open->wait(seconds) ? 1 : 0;
  });
}

void foretrain_search_cancel(foretrain_search* search) {
  if (search != nullptr) search->open->stop();
}

char* foretrain_search_answer(foretrain_search* search) {
  return at_border<char*>(nullptr, [&]() -> Result<char*> {
    TRY(present(search, "search"));
    while (!search->open->wait(kLongestWait)) {
    }
    const Result<std::string>& answer = search->open->answer();
    if (!answer) return tl::unexpected(answer.error());
    return given_away(*answer);
  });
}

void foretrain_search_close(foretrain_search* search) {
  try {
    delete search;
  } catch (...) {
  }
}
