#include "search/sweep.h"

#include <doctest/doctest.h>

#include <atomic>

#include "search/one_plan.h"
#include "search/testing.h"

namespace foretrain {
namespace {

AnswerRequest over(std::vector<std::int64_t> gpus, const std::vector<std::int64_t>& seqs,
                   const std::vector<std::int64_t>& batches) {
  AnswerRequest request;
  request.problem = problem_of("gpt2", "dgx-a100", "megatron", std::move(gpus), batches.front());
  request.problem.seq = seqs.front();
  CHECK_THAT(request.constraints.add_set("recompute=none,selective,zero=0,1", request.problem).has_value());
  request.costs_for = [](const Cluster&) { return std::shared_ptr<const CostSource>(); };
  request.options.threads = 1;
  for (const std::int64_t seq : seqs) request.over.seqs.push_back(std::to_string(seq));
  for (const std::int64_t batch : batches) request.over.batches.push_back(std::to_string(batch));
  for (const std::int64_t seq : seqs)
    for (const std::int64_t batch : batches) request.over.points.push_back({seq, batch, ""});
  return request;
}

SearchResult alone(const AnswerRequest& request, const BatchPoint& at) {
  Problem problem = request.problem;
  problem.seq = at.seq;
  problem.global_batch = at.global_batch;
  const auto space = Space::make(problem, request.constraints);
  CHECK_THAT(space.has_value());
  SearchOptions options = options_for(request, problem);
  options.keep = 1;
  return search(*space, nullptr, options);
}

TEST_CASE("each point has the best plan that a search for it alone finds, by each objective") {
  for (const Objective objective : {Objective::kTime, Objective::kMoney, Objective::kMemory}) {
    AnswerRequest request = over({8}, {512, 1024}, {8, 24, 64});
    request.options.objective = objective;
    const auto answer = answer_sweep(request);
    REQUIRE(answer);
    REQUIRE(answer->points.size() == 6);
    std::uint64_t plans = 0;
    for (const SweepPoint& point : answer->points) {
      CAPTURE(point.at.seq);
      CAPTURE(point.at.global_batch);
      const SearchResult own = alone(request, point.at);
      REQUIRE(point.answer.best.size() == 1);
      CHECK(point.answer.best.front().scored == own.best.front());
      CHECK(point.answer.best.front().run.global_batch == point.at.global_batch);
      CHECK(point.answer.best.front().run.seq == point.at.seq);
      plans += own.counts.candidates;
    }
    CHECK(answer->counts.candidates == plans);
  }
}

TEST_CASE("of several GPU counts each point has the fastest of each, as its own front has") {
  AnswerRequest request = over({1, 2, 4, 8}, {1024}, {8, 32});
  const auto answer = answer_sweep(request);
  REQUIRE(answer);
  for (const SweepPoint& point : answer->points) {
    const SearchResult own = alone(request, point.at);
    // The whole front's fastest of a count that no smaller count has too.
    std::vector<ScoredPlan> fastest;
    for (const ScoredPlan& plan : own.pareto)
      if (fastest.empty() || (plan.gpus > fastest.back().gpus && plan.step < fastest.back().step))
        fastest.push_back(plan);
    REQUIRE(point.answer.result.pareto.size() == fastest.size());
    for (std::size_t i = 0; i < fastest.size(); ++i) {
      CHECK(point.answer.result.pareto[i].gpus == fastest[i].gpus);
      CHECK(point.answer.result.pareto[i].step == fastest[i].step);
    }
    CHECK(point.answer.best.front().scored.step == own.best.front().step);
  }
}

TEST_CASE("a point without a plan says why, and the others are there") {
  AnswerRequest request = over({4}, {1024}, {8, 32});
  request.over.points[0].refused = "no run can have it";
  request.headroom_share = 0.995;  // of 80 GB: 0.4 GB, which no plan fits in
  const auto nothing = answer_sweep(request);
  REQUIRE(nothing);
  CHECK(nothing->points[0].refused == "no run can have it");
  CHECK(nothing->points[1].refused.starts_with("no plan fits: the smallest needs "));
  CHECK(nothing->best_per_gpu() == 0);
}

TEST_CASE("asked to stop while it is found out why a point has no plan, nothing is said of that") {
  AnswerRequest request = over({4}, {1024}, {8, 32});
  request.headroom_share = 0.995;
  std::atomic<bool> stop = false;
  request.options.stop = &stop;
  // The search is over with the last plan that is decided; what comes after it tells no progress.
  request.options.progress = [&](const SearchProgress& now) { stop = 2 * now.done == now.all; };
  const auto answer = answer_sweep(request);
  REQUIRE(answer);
  CHECK(stop);
  CHECK(answer->interrupted);
  CHECK(answer->points[0].refused == "no plan was found before it was interrupted");
  CHECK(answer->points[1].refused == "not searched: interrupted");
}

TEST_CASE("a time that is too short for anything still gives every point a plan") {
  AnswerRequest request = over({8}, {1024}, {8, 16, 64});
  request.time_s = 1e-6;
  const auto answer = answer_sweep(request);
  REQUIRE(answer);
  CHECK(answer->interrupted);
  for (const SweepPoint& point : answer->points) CHECK(point.answer.best.size() == 1);
}

}  // namespace
}  // namespace foretrain
