// What foretrain.h promises of threads, for the thread sanitizer.
#include <doctest/doctest.h>

#include <atomic>
#include <string>

#include "base/threads.h"
#include "library/testing.h"

namespace foretrain {
namespace {

TEST_SUITE_BEGIN("threads");

constexpr const char* kGpt2 = R"({"model": "gpt2", "cluster": "dgx-a100", "gpus": 4, "global_batch": 64})";
constexpr const char* kSearch =
    R"({"model": "gpt2", "cluster": "dgx-a100", "gpus": 4, "global_batch": 64, "set": ["pp=1", "zero=0,1"]})";

TEST_CASE("calls on one session and on one run go on beside each other") {
  const auto session = held(foretrain_session_open(nullptr));
  const auto run = held(foretrain_run_open(session.get(), kGpt2));
  REQUIRE(run != nullptr);
  const std::string alone = taken(foretrain_answer(session.get(), "predict", kGpt2));
  foretrain_score score;
  REQUIRE(foretrain_run_score(run.get(), "tp=2", &score) == 0);
  std::atomic<int> wrong = 0;
  run_on_threads(4, [&](int thread) {
    const std::int64_t tp[] = {1, 2, 4};
    const foretrain_column column = {"tp", tp, nullptr, nullptr, 0};
    double step[3];
    foretrain_scores out = {};
    out.step_s = step;
    for (int i = 0; i < 3; ++i) {
      if (taken(foretrain_answer(session.get(), "predict", kGpt2)) != alone) ++wrong;
      if (foretrain_run_score_plans(run.get(), 3, &column, 1, &out) != 0 || step[1] != score.step_s) ++wrong;
      // Each thread has an error of its own.
      const std::string word = "nobody" + std::to_string(thread);
      foretrain_answer(session.get(), word.c_str(), "{}");
      if (std::string(foretrain_last_error()).find(word) == std::string::npos) ++wrong;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a search is watched and stopped from other threads while it works") {
  auto session = held(foretrain_session_open(nullptr));
  const std::string whole = taken(foretrain_answer(session.get(), "search", kSearch));
  const auto search = held(foretrain_search_start(session.get(), kSearch));
  REQUIRE(search != nullptr);
  session.reset();
  std::atomic<int> wrong = 0;
  run_on_threads(3, [&](int) {
    while (foretrain_search_wait(search.get(), 0.001) == 0)
      if (taken(foretrain_search_progress(search.get())).find("decided") == std::string::npos) ++wrong;
    if (number(taken(foretrain_search_answer(search.get())), "candidates") != number(whole, "candidates"))
      ++wrong;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a search that is cancelled, or closed, ends soon") {
  const auto session = held(foretrain_session_open(nullptr));
  constexpr const char* kLong =
      R"({"model": "llama-3-8b", "cluster": "dgx-h100", "gpus": 512, "global_batch": 1024})";
  auto search = held(foretrain_search_start(session.get(), kLong));
  REQUIRE(search != nullptr);
  CHECK(foretrain_search_wait(search.get(), 0) == 0);
  foretrain_search_cancel(search.get());
  const std::string answer = taken(foretrain_search_answer(search.get()));
  CHECK(answer.find("\"interrupted\": true") != std::string::npos);
  search = held(foretrain_search_start(session.get(), kLong));
  search.reset();
}

}  // namespace
}  // namespace foretrain
