#include "server/search_jobs.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

namespace foretrain {
namespace {

using namespace std::chrono_literals;
using State = SearchJobs::State;

struct Fixture {
  explicit Fixture(const SearchJobLimits& limits = {})
      : jobs(limits, [n = 0]() mutable { return fmt::format("job{}", ++n); }) {}
  SearchJobs jobs;
  SearchJobs::Clock::time_point now{};
};

TEST_CASE("jobs: one waits, runs, tells how far it is, and keeps its answer") {
  Fixture f;
  const auto id = f.jobs.start("question", f.now);
  REQUIRE(id);
  CHECK(f.jobs.look(*id, f.now)->state == State::kWaiting);
  const auto job = f.jobs.take();
  CHECK(job->request == "question");
  CHECK(f.jobs.look(*id, f.now)->state == State::kRunning);
  f.jobs.note(*job, {.done = 3, .all = 10, .best = 1.5});
  CHECK(f.jobs.look(*id, f.now)->progress->done == 3);
  f.jobs.finish(*job, std::string("answer"), f.now);
  const auto view = f.jobs.look(*id, f.now);
  CHECK(view->state == State::kDone);
  CHECK(**view->answer == "answer");
}

TEST_CASE("jobs: they wait in order, and when the queue is full nobody comes in") {
  Fixture f({.waiting = 2});
  CHECK(f.jobs.start("a", f.now));
  CHECK(f.jobs.start("b", f.now));
  CHECK_FALSE(f.jobs.start("c", f.now));
  CHECK(f.jobs.look("job2", f.now)->before == 1);
  CHECK(f.jobs.take()->request == "a");  // which makes room
  CHECK(f.jobs.start("c", f.now));
  CHECK(f.jobs.look("job4", f.now)->before == 2);  // the third was never let in, but its id was drawn
}

TEST_CASE("jobs: stop leaves the answer, drop nothing") {
  Fixture f;
  f.jobs.start("a", f.now);
  const auto job = f.jobs.take();
  CHECK(f.jobs.stop("job1"));
  CHECK(job->stop);
  CHECK(f.jobs.look("job1", f.now)->stopping);
  CHECK(f.jobs.drop("job1"));
  CHECK_FALSE(f.jobs.look("job1", f.now));
  CHECK_FALSE(f.jobs.stop("job1"));
  f.jobs.finish(*job, std::string("for nobody"), f.now);
  CHECK_FALSE(f.jobs.look("job1", f.now));
}

TEST_CASE(
    "jobs: what nobody looks at is stopped, what nobody fetches is forgotten, what takes too long is ended") {
  Fixture f({.kept_for = 100s, .most_time = 50s, .abandoned_after = 30s});
  f.jobs.start("a", f.now);
  const auto job = f.jobs.take([&] { return f.now; });
  f.jobs.look("job1", f.now + 20s);
  f.jobs.tidy(f.now + 49s);
  CHECK_FALSE(job->stop);
  f.jobs.look("job1", f.now + 49s);
  f.jobs.tidy(f.now + 51s);
  CHECK(job->stop);                         // by time, with somebody looking
  CHECK(f.jobs.look("job1", f.now + 51s));  // who will see the best so far
  f.jobs.finish(*job, std::string("x"), f.now + 52s);
  f.jobs.tidy(f.now + 151s);
  CHECK(f.jobs.look("job1", f.now + 151s));
  f.jobs.tidy(f.now + 153s);
  CHECK_FALSE(f.jobs.look("job1", f.now + 153s));

  f.jobs.start("b", f.now);
  const auto left = f.jobs.take([&] { return f.now; });
  f.jobs.tidy(f.now + 31s);
  CHECK(left->stop);
  CHECK_FALSE(f.jobs.look("job2", f.now + 31s));
}

TEST_CASE("jobs: of answers the oldest goes") {
  Fixture f({.kept = 2});
  for (int i = 0; i < 3; ++i) {
    f.jobs.start("a", f.now);
    f.jobs.finish(*f.jobs.take(), std::string("x"), f.now);
  }
  CHECK(f.jobs.start("b", f.now));
  CHECK_FALSE(f.jobs.look("job1", f.now));
  CHECK(f.jobs.look("job3", f.now));
}

TEST_CASE("jobs: at the end all are stopped and nobody comes in") {
  Fixture f;
  f.jobs.start("a", f.now);
  const auto job = f.jobs.take();
  f.jobs.close();
  CHECK(job->stop);
  CHECK(f.jobs.take() == nullptr);
  CHECK_FALSE(f.jobs.start("b", f.now));
}

TEST_CASE("ids are 32 hexadecimal digits, never the same") {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(random_id());
  CHECK(ids.size() == 1000);
  CHECK(ids.begin()->size() == 32);
  CHECK(ids.begin()->find_first_not_of("0123456789abcdef") == std::string::npos);
}

}  // namespace
}  // namespace foretrain
