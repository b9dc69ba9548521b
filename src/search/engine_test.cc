#include "search/engine.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <chrono>
#include <new>
#include <set>
#include <thread>

#include "base/testing.h"
#include "predict/evaluator.h"
#include "predict/uncertainty.h"
#include "search/local_ranks.h"
#include "search/testing.h"
#include "search/watch.h"
#include "search/workers.h"

namespace foretrain {
namespace {

// Plans, order and counts.
void expect_the_same_on_any_number_of_threads(const Space& space) {
  SearchOptions options = options_for(space.problem());
  std::vector<ScoredPlan> first_rows;
  SearchResult first;
  for (const int threads : {1, 2, 5}) {
    std::vector<ScoredPlan> rows;
    options.threads = threads;
    options.evaluated = [&](const ScoredPlan& plan, const Candidate& candidate) {
      rows.push_back(plan);
      if (rows.size() % 64 == 1) CHECK(candidate == space.candidate(plan.index));
    };
    const SearchResult result = search(space, nullptr, options);
    CHECK(rows.size() == result.counts.evaluated);
    if (threads == 1) {
      first = result;
      first_rows = rows;
      CHECK(result.counts.evaluated > 1000);
      continue;
    }
    CHECK(result.best == first.best);
    CHECK(result.pareto == first.pareto);
    CHECK(result.counts == first.counts);
    CHECK(rows == first_rows);
  }
}

TEST_CASE("the number of threads changes nothing" * doctest::test_suite("threads")) {
  expect_the_same_on_any_number_of_threads(
      space_of(problem_of("gpt2", "dgx-h100", "megatron", {8}, 8), {"recompute=none"}));
}

TEST_CASE("a thread that has nothing left does other work while another is busy, and one alone does none" *
          doctest::test_suite("threads")) {
  const Problem problem = problem_of("gpt2", "dgx-h100", "megatron", {8}, 8);
  Evaluators evaluators(problem, nullptr);
  std::atomic<int> pieces = 0;
  const auto piece = [&] { return ++pieces < 3; };
  Workers two(evaluators, 2, piece);
  const auto begin = std::chrono::steady_clock::now();
  const auto waits = [&] {
    return pieces == 0 && two.had() == 2 &&
           std::chrono::steady_clock::now() < begin + std::chrono::minutes(1);
  };
  two.each(1, 1, [&](std::size_t, std::size_t) {
    while (waits()) std::this_thread::yield();
  });
  CHECK(pieces > 0);
  CHECK(pieces <= 3);  // none after the last
  pieces = 0;
  Workers one(evaluators, 1, piece);
  one.each(5, 1, [](std::size_t, std::size_t) {});
  CHECK(pieces == 0);
  // Of a search the result is the same.
  const Space space = space_of(problem, {"zero=0,1"});
  SearchOptions options = options_for(problem);
  options.threads = 3;
  const SearchResult without = search(space, nullptr, options);
  options.beside = piece;
  const SearchResult with = search(space, nullptr, options);
  CHECK(with.best == without.best);
  CHECK(with.pareto == without.pareto);
  CHECK(with.counts == without.counts);
}

TEST_CASE("the number of threads changes nothing, of many plans" * doctest::skip(!all_trials())) {
  expect_the_same_on_any_number_of_threads(
      space_of(problem_of("llama-3-8b", "dgx-h100", "megatron", {8}, 32)));
}

TEST_CASE("the best plans have the figures of their predictions") {
  const Problem problem = problem_of("gpt3-175b", "selene", "megatron", {64}, 64);
  const Space space = space_of(problem, {"tp=8"});
  const SearchResult result = search(space, nullptr, options_for(problem));
  REQUIRE(result.best.size() == 1000);
  Evaluator evaluator(problem.model, problem.cluster, problem.stack, problem.seq);
  for (const ScoredPlan& plan : result.best) {
    const Score score = evaluator.score(space.candidate(plan.index).plan, problem.global_batch);
    CHECK(plan.exact);
    CHECK(plan.step == score.step.value);
    CHECK(plan.peak == score.needed.value);
    CHECK(score.fits);
  }
}

TEST_CASE("more GPUs are never slower, cheaper plans never dearer, and limits are kept to") {
  const Problem problem = problem_of("llama-3-8b", "dgx-h100", "megatron", {8, 16, 32}, 64);
  const Space space =
      space_of(problem, {"schedule=1f1b", "layers_per_stage=even", "recompute=none,selective"});
  SearchOptions options = options_for(problem);
  const SearchResult fastest = search(space, nullptr, options);
  options.objective = Objective::kMoney;
  const SearchResult cheapest = search(space, nullptr, options);
  CHECK(fastest.best.front().gpus == 32);
  CHECK(key_of(Objective::kMoney, cheapest.best.front()) <= key_of(Objective::kMoney, fastest.best.front()));
  // A deadline between the two leaves only plans that keep it.
  options.limits.training_steps = 1000;
  options.limits.deadline_s = 1000 * (fastest.best.front().step + cheapest.best.front().step) / 2;
  for (const ScoredPlan& plan : search(space, nullptr, options).best)
    CHECK(plan.step <= *options.limits.deadline_s / 1000);
}

TEST_CASE("however few families are held, the same plans are found and every plan is counted") {
  const Problem problem = problem_of("llama-3-8b", "dgx-h100", "megatron", {8, 16}, 16);
  const Space space = space_of(problem);
  SearchOptions options = options_for(problem);
  const SearchResult whole = search(space, nullptr, options);
  for (const std::size_t held : {1, 100, 1000}) {
    CAPTURE(held);
    REQUIRE(held < space.families());
    options.most_held = held;
    options.most_noted = 2 * held;
    const SearchResult windows = search(space, nullptr, options);
    CHECK(windows.best == whole.best);
    CHECK(windows.pareto == whole.pareto);
    const SearchCounts& c = windows.counts;
    CHECK(c.evaluated + c.pruned_memory + c.pruned_bound == space.size());
    CHECK(c.candidates == space.size());
  }
}

// Of all memory that this process has had.
double most_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// What somebody asks for multiplies families: pieces of the MLP, formats of gradients and sums, master weights. All of
// them as values would take 360 MiB beside what threads remember of passes, and their floors 60. At night alone.
TEST_CASE("a space of two million families is searched in bounded memory" *
          doctest::skip(trials(100) < 400)) {
  Problem problem = problem_of("gpt2", "dgx-h100", "generic", {8}, 8);
  Constraints constraints;
  REQUIRE(constraints.add_range("mlp_chunks=1..256", problem).has_value());
  for (const char* set : {"master_weights=0,1", "grad_dtype=fp32,bf16", "reduce_dtype=fp32,bf16"})
    REQUIRE(constraints.add_set(set, problem).has_value());
  const auto space = Space::make(problem, constraints);
  REQUIRE(space);
  MESSAGE(space->families(), " families, ", most_mib(), " MiB before");
  CHECK(space->families() > 2'000'000);
  SearchOptions options = options_for(problem);
  options.keep = 1;
  options.front = FrontKind::kNone;
  options.most_held = 20'000;
  options.most_noted = 100'000;
  const SearchResult result = search(*space, nullptr, options);
  MESSAGE(result.counts.evaluated, " evaluated, ", most_mib(), " MiB, ", result.seconds, " s");
  CHECK_FALSE(result.interrupted);
  CHECK(result.best.size() == 1);
  CHECK(result.counts.evaluated + result.counts.pruned_memory + result.counts.pruned_bound == space->size());
  CHECK(most_mib() < 500);
}

TEST_CASE("asked to stop, it gives what it has") {
  const Problem problem = problem_of("llama-3-8b", "dgx-h100", "megatron", {64}, 512);
  const Space space = space_of(problem);
  SearchOptions options = options_for(problem);
  std::atomic<bool> stop = false;
  options.stop = &stop;
  options.threads = 1;
  options.progress = [&](const SearchProgress& now) { stop = now.done > 20'000; };
  const SearchResult result = search(space, nullptr, options);
  CHECK(result.interrupted);
  CHECK(!result.best.empty());
  CHECK(result.counts.evaluated + result.counts.pruned_memory + result.counts.pruned_bound < space.size());
}

TEST_CASE("a search of what was counted in time says that there is more, and not how good that can be") {
  const Problem problem = problem_of("llama-3-8b", "dgx-h100", "megatron", {64}, 512);
  const Space whole = space_of(problem);
  int asked = 0;
  const auto some = Space::make(problem, {}, 1, [&] { return ++asked > 8; });
  REQUIRE(some.has_value());
  CHECK(whole.is_whole());
  CHECK_FALSE(some->is_whole());
  CHECK(some->size() > 0);
  CHECK(some->size() < whole.size());
  // From all over it, not from its beginning.
  std::set<std::int64_t> stages;
  for (const Family& family : some->samples()) stages.insert(some->candidate(family.first).plan.pp);
  CHECK(stages.size() > 1);
  const SearchResult result = search(*some, nullptr, options_for(problem));
  CHECK(result.interrupted);
  CHECK_FALSE(result.counted);
  CHECK_FALSE(result.open);
  REQUIRE_FALSE(result.best.empty());
  CHECK(result.best.front().step >= search(whole, nullptr, options_for(problem)).best.front().step);
  CHECK(result.counts.evaluated + result.counts.pruned_memory + result.counts.pruned_bound == some->size());
}

TEST_CASE("told to stop before anything is counted, a space still has plans") {
  const auto space =
      Space::make(problem_of("gpt2", "dgx-h100", "megatron", {8}, 8), {}, 2, [] { return true; });
  REQUIRE(space.has_value());
  CHECK_FALSE(space->is_whole());
  CHECK(space->size() > 0);
}

TEST_CASE("counting takes half of the time that a search is given, and a team counts all") {
  SearchOptions options;
  CHECK_FALSE(stop_of_counting(options));
  options.until = std::chrono::steady_clock::now();
  REQUIRE(stop_of_counting(options));
  CHECK(stop_of_counting(options)());
  options.until = std::chrono::steady_clock::now() + std::chrono::hours(1);
  CHECK_FALSE(stop_of_counting(options)());
  std::atomic<bool> stop = true;
  options.stop = &stop;
  CHECK(stop_of_counting(options)());
  LocalRank::Table table(2);
  LocalRank rank(table, 0);
  options.team = &rank;
  CHECK_FALSE(stop_of_counting(options));
}

TEST_CASE("stopped at a time that was given, it knows how good the best of the rest can be") {
  const Problem problem = problem_of("gpt2", "dgx-h100", "megatron", {8}, 8);
  const Space space = space_of(problem, {"zero=0,1"});
  SearchOptions options = options_for(problem);
  const double best = search(space, nullptr, options).best.front().step;
  for (const int milliseconds : {0, 20, 60}) {
    options.until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    const SearchResult result = search(space, nullptr, options);
    CAPTURE(milliseconds);
    CHECK_FALSE(result.best.empty());  // however short the time
    if (!result.interrupted) {
      CHECK_FALSE(result.open);
      CHECK(result.best.front().step == best);
      continue;
    }
    // Either it was found, or it is among what was left open.
    if (result.best.empty() || result.best.front().step > best) {
      REQUIRE(result.open);
      CHECK(*result.open <= best);
    }
  }
}

TEST_CASE("a thread that runs out of memory ends the search as an exception of the caller" *
          doctest::test_suite("threads")) {
  const Problem problem = problem_of("gpt2", "dgx-h100", "megatron", {4}, 8);
  const Space space = space_of(problem);
  SearchOptions options = options_for(problem);
  options.threads = 3;
  const std::thread::id caller = std::this_thread::get_id();
  options.progress = [caller](const SearchProgress&) {  // called by whichever thread has done a family
    if (std::this_thread::get_id() != caller) throw std::bad_alloc();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that the others get some to do
  };
  CHECK_THROWS_AS(search(space, nullptr, options), std::bad_alloc);
}

// Bit for bit.
void expect_two_machines_to_find_what_one_finds(const Space& space) {
  SearchOptions options = options_for(space.problem());
  options.threads = 1;
  std::vector<ScoredPlan> rows[3];
  options.evaluated = [&](const ScoredPlan& plan, const Candidate&) { rows[2].push_back(plan); };
  const SearchResult alone = search(space, nullptr, options);
  SearchResult results[2];
  on_ranks(2, [&](int r, Team& team) {
    SearchOptions own = options;
    own.team = &team;
    own.evaluated = [&rows, r](const ScoredPlan& plan, const Candidate&) { rows[r].push_back(plan); };
    results[r] = search(space, nullptr, own);
  });
  for (int r = 0; r < 2; ++r) {
    CHECK(results[r].best == alone.best);
    CHECK(results[r].pareto == alone.pareto);
    CHECK(results[r].counts == alone.counts);
    CHECK(rows[r] == rows[2]);
  }
}

TEST_CASE("two machines find what one finds" * doctest::test_suite("threads")) {
  expect_two_machines_to_find_what_one_finds(
      space_of(problem_of("gpt2", "dgx-h100", "megatron", {8}, 8), {"recompute=none"}));
}

TEST_CASE("two machines find what one finds, of many plans" * doctest::skip(!all_trials())) {
  expect_two_machines_to_find_what_one_finds(
      space_of(problem_of("llama-3-8b", "dgx-h100", "megatron", {16}, 32)));
}

TEST_CASE("two machines stop together, though one of them was asked before the first round" *
          doctest::test_suite("threads")) {
  const Problem problem = problem_of("gpt2", "dgx-h100", "megatron", {8}, 8);
  const Space space = space_of(problem);
  const std::atomic<bool> asked = true;
  SearchResult results[2];
  on_ranks(2, [&](int r, Team& team) {
    SearchOptions own = options_for(problem);
    own.threads = 1;
    own.team = &team;
    if (r == 1) own.stop = &asked;
    results[r] = search(space, nullptr, own);
  });
  for (const SearchResult& result : results) CHECK(result.interrupted);
}

TEST_CASE("a fault on one of the threads comes back to the one who asked") {
  const Problem problem = problem_of("gpt2", "dgx-h100", "megatron", {8}, 8);
  const Space space = space_of(problem, {"tp=1"});
  SearchOptions options = options_for(problem);
  options.threads = 3;
  options.progress = [](const SearchProgress& now) { CHECK_THAT(now.done < 100); };
  CHECK_THROWS_AS(search(space, nullptr, options), Fault);
}

}  // namespace
}  // namespace foretrain
