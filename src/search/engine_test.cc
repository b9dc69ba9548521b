#include "search/engine.h"

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <random>
#include <thread>

#include "base/testing.h"
#include "predict/evaluator.h"
#include "predict/uncertainty.h"
#include "search/testing.h"

namespace foretrain {
namespace {

// Models of a few layers on a few GPUs: up to some ten thousand plans each.
struct SmallProblem {
  Problem problem;
  Constraints constraints;
  SearchOptions options;
};

SmallProblem any_small_problem(std::mt19937& random) {
  const auto pick = [&random](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[random() % std::size(all)];
  };
  SmallProblem s;
  s.problem = problem_of(pick("gpt2", "llama-2-7b", "pythia-1.4b"), pick("perlmutter", "dgx-h100", "selene"),
                         pick("generic", "megatron", "neox", "nanotron", "llm-foundry"), {}, pick(4, 6, 8));
  s.problem.model.blocks.front().count = pick(2, 3, 4);
  if (random() % 4 == 0) {  // layers of a second kind
    Block narrow = s.problem.model.blocks.front().block;
    narrow.feed_forward.ffn /= 4;
    s.problem.model.blocks.push_back({pick(1, 2), narrow});
  }
  const std::string& stack = s.problem.stack.name;
  if (random() % 3 == 0 && (stack == "generic" || stack == "megatron")) {
    FeedForward& f = s.problem.model.blocks.back().block.feed_forward;
    f = {.mlp = f.mlp, .experts = 4, .top_k = 2, .expert_ffn = f.ffn / 4, .shared_ffn = pick(0, 512)};
  }
  s.problem.seq = 512;
  s.problem.gpus = {pick(1, 2, 2, 4, 4, 8)};
  if (random() % 3 == 0) s.problem.gpus.push_back(s.problem.gpus.back() * 2);
  if (random() % 2 == 0) CHECK(s.constraints.add_set(pick("tp=1,2", "pp=1,2,4", "zero=0,1,3"), s.problem));
  if (random() % 4 == 0) CHECK(s.constraints.add_forbid(pick("schedule=gpipe", "recompute=full"), s.problem));
  // Short sequences are divided where somebody asks for it.
  if (random() % 6 == 0 && (stack == "generic" || stack == "megatron"))
    CHECK(s.constraints.add_range("cp=1..4", s.problem));
  s.options = options_for(s.problem);
  s.options.objective = static_cast<Objective>(random() % 4);
  s.options.keep = pick(1, 5, 50, 1000);
  // Small models fit everywhere: a GPU of which a part is usable.
  s.options.limits.memory = s.options.limits.memory * pick(0.05, 0.1, 0.2, 1.0);
  if (random() % 4 == 0) {
    s.options.limits.training_steps = 1000;
    s.options.limits.deadline_s = pick(20.0, 100.0, 500.0);
  }
  return s;
}

TEST_CASE("bounds lose nothing: brute force finds the same plans, on 300 random small problems") {
  std::mt19937 random(8);
  std::uint64_t plans = 0, evaluated = 0, brute_evaluated = 0;
  int empty = 0;
  const int problems = trials(300);
  for (int i = 0; i < problems; ++i) {
    SmallProblem s = any_small_problem(random);
    const auto space = Space::make(s.problem, s.constraints);
    REQUIRE(space);
    CAPTURE(i);
    s.options.threads = 1 + i % 3;
    const SearchResult bounded = search(*space, nullptr, s.options);
    s.options.bounds = false;
    const SearchResult brute = search(*space, nullptr, s.options);
    CHECK(bounded.best == brute.best);
    CHECK(bounded.pareto == brute.pareto);
    for (const SearchResult* r : {&bounded, &brute})
      CHECK(r->counts.evaluated + r->counts.pruned_memory + r->counts.pruned_bound == space->size());
    CHECK(brute.counts.pruned_bound == 0);
    CHECK(bounded.counts.evaluated <= brute.counts.evaluated);
    plans += space->size();
    evaluated += bounded.counts.evaluated;
    brute_evaluated += brute.counts.evaluated;
    empty += brute.best.empty();
  }
  MESSAGE(plans, " plans; evaluated ", brute_evaluated, " by brute force, ", evaluated, " with bounds; ",
          empty, " problems have no answer");
  CHECK(2 * empty < problems);
}

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

TEST_CASE("stopped at a time that was given, it knows how good the best of the rest can be") {
  const Problem problem = problem_of("gpt2", "dgx-h100", "megatron", {8}, 8);
  const Space space = space_of(problem, {"zero=0,1"});
  SearchOptions options = options_for(problem);
  const double best = search(space, nullptr, options).best.front().step;
  for (const int milliseconds : {0, 20, 60}) {
    options.until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    const SearchResult result = search(space, nullptr, options);
    CAPTURE(milliseconds);
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

// Two machines as two threads that wait for each other.
class Pair final : public Team {
 public:
  struct Table {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> given = std::vector<std::string>(2), all;
    int count = 0, turn = 0;
  };
  Pair(Table& table, int rank) : table_(table), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return 2; }
  std::vector<std::string> all_gather(std::string_view mine) override {
    std::unique_lock lock(table_.mutex);
    const int turn = table_.turn;
    table_.given[static_cast<std::size_t>(rank_)] = mine;
    if (++table_.count == 2) {
      table_.all = table_.given;
      table_.count = 0;
      ++table_.turn;
      table_.changed.notify_all();
    }
    table_.changed.wait(lock, [&] { return table_.turn != turn; });
    return table_.all;
  }

 private:
  Table& table_;
  int rank_;
};

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
  Pair::Table table;
  SearchResult results[2];
  {
    std::vector<std::jthread> machines;
    for (int r = 0; r < 2; ++r)
      machines.emplace_back([&, r] {
        Pair team(table, r);
        SearchOptions own = options;
        own.team = &team;
        own.evaluated = [&rows, r](const ScoredPlan& plan, const Candidate&) { rows[r].push_back(plan); };
        results[r] = search(space, nullptr, own);
      });
  }
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
  Pair::Table table;
  SearchResult results[2];
  {
    std::vector<std::jthread> machines;
    for (int r = 0; r < 2; ++r)
      machines.emplace_back([&, r] {
        Pair team(table, r);
        SearchOptions own = options_for(problem);
        own.threads = 1;
        own.team = &team;
        if (r == 1) own.stop = &asked;
        results[r] = search(space, nullptr, own);
      });
  }
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
