#include "search/launch_filter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "base/testing.h"
#include "base/yaml.h"
#include "job/run_check.h"
#include "search/frameworks.h"
#include "search/testing.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

struct Asked {
  const char* model;
  const char* cluster;
  std::int64_t gpus, batch;
};

// Dense, with experts, with latent attention; one GPU, a node and several; little and much data. The first few are small;
// the slow test (FORETRAIN_TRIALS above 1) asks for all of them, and searches each.
constexpr std::array kAsked = {
    Asked{"gpt2", "dgx-h100", 4, 12},          Asked{"deepseek-v2-lite", "dgx-h100", 8, 16},
    Asked{"gpt2", "dgx-h100", 1, 8},           Asked{"gpt2-xl", "dgx-a100", 8, 16},
    Asked{"gpt2-xl", "dgx-a100", 16, 64},      Asked{"llama-3-8b", "dgx-h100", 8, 8},
    Asked{"llama-3-8b", "dgx-h100", 16, 48},   Asked{"llama-3-8b", "dgx-h200", 32, 32},
    Asked{"mixtral-8x7b", "dgx-h100", 16, 16}, Asked{"mixtral-8x7b", "dgx-h100", 32, 64},
    Asked{"llama-3-70b", "dgx-h100", 32, 32},  Asked{"gpt3-175b", "selene", 64, 64},
};
constexpr std::size_t kSmall = 3;
bool asks_all() { return share_of_trials() > 1; }

// Of the presets, so that nobody can forget a new one.
std::vector<Stack> all_stacks() {
  const Catalog catalog;
  std::vector<Stack> stacks;
  for (const std::string& name : catalog.names("stacks")) stacks.push_back(catalog.stack(name).value());
  return stacks;
}

Problem asked_of(const Asked& asked, const Stack& stack) {
  Problem problem = problem_of(asked.model, asked.cluster, "generic", {asked.gpus}, asked.batch);
  problem.stack = stack;
  return problem;
}

// Why check refuses a plan for the problem's stack; empty: it does not.
std::string refusal(const Problem& problem, const Candidate& candidate) {
  Run run = run_without_plan(problem);
  run.plan = candidate.plan;
  run.gpus = candidate.gpus;
  const auto checked = check_run(run);
  return checked ? "" : to_text(candidate.plan) + ": " + checked.error().message;
}

TEST_CASE("no plan that a search looks at is refused for its stack") {
  const std::uint64_t looked = asks_all() ? 400 : 100;  // of each space, from all over it
  std::size_t none = 0, spaces = 0;
  for (const Stack& stack : all_stacks())
    for (std::size_t i = 0; i < (asks_all() ? kAsked.size() : kSmall); ++i) {
      const Problem problem = asked_of(kAsked[i], stack);
      const auto space = Space::make(problem, {});
      REQUIRE(space.has_value());
      none += space->size() == 0;
      ++spaces;
      const std::uint64_t stride = std::max<std::uint64_t>(1, space->size() / looked);
      INFO(stack.name, " ", kAsked[i].model);
      for (std::uint64_t n = 0; n < space->size(); n += stride)
        CHECK(refusal(problem, space->candidate(n)) == "");
    }
  CHECK(none < spaces / 2);  // most stacks run most models
}

TEST_CASE("no plan of a search's list is refused for its stack") {
  constexpr std::size_t kTop = 1000;
  for (const Stack& stack : all_stacks())
    for (std::size_t i = 0; i < (asks_all() ? kAsked.size() : 1); ++i) {
      const Problem problem = asked_of(kAsked[i], stack);
      const auto space = Space::make(problem, {});
      REQUIRE(space.has_value());
      SearchOptions options = options_for(problem);
      options.keep = kTop;
      INFO(stack.name, " ", kAsked[i].model);
      for (const ScoredPlan& plan : search(*space, nullptr, options).best)
        CHECK(refusal(problem, space->candidate(plan.index)) == "");
    }
}

TEST_CASE("what rules leave out is counted: with the rest, all that can be stated") {
  for (const char* stack : {"megatron", "nanotron", "torchtitan", "neox", "hf-trainer"}) {
    const Problem free = problem_of("gpt2", "dgx-h100", stack, {4}, 8);
    Problem problem = free;
    problem.stack = Catalog().stack(stack).value();
    const Space bound = space_of(problem), all = space_of(free);
    std::uint64_t launched = 0;
    Run run = run_without_plan(problem);
    for (std::uint64_t i = 0; i < all.size(); ++i) {
      const Candidate c = all.candidate(i);
      run.plan = c.plan;
      run.gpus = c.gpus;
      launched += check_run(run).has_value();
    }
    INFO(stack);
    CHECK(bound.size() + bound.not_launched() == all.size());
    CHECK(bound.size() == launched);
    CHECK(bound.not_launched() > 0);
  }
}

TEST_CASE("a rule that ties what a search takes apart is refused") {
  Problem problem = problem_of("gpt2", "dgx-h100", "generic", {4}, 8);
  problem.stack.rules =
      parse_launch_rules(
          parse_yaml("odd: {plan: {recompute_layers: 1..}, needs: {overlap_grad_reduce: 1}, says: so}", "")
              .value())
          .value();
  const auto space = Space::make(problem, {});
  REQUIRE_FALSE(space.has_value());
  CHECK(space.error().message.find("rule 'odd' speaks of two of") != std::string::npos);
}

TEST_CASE("a plan is marked with the frameworks that launch it") {
  const Problem problem = problem_of("llama-3-8b", "dgx-h100", "any", {8}, 16);
  Frameworks frameworks(problem, all_stacks());
  REQUIRE(frameworks.any());
  const auto runs = [&](const char* plan, std::string_view name) {
    const auto names = frameworks.that_launch({8, parse_plan(plan).value()});
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  CHECK(runs("pp=2,schedule=zbv,zero=2", "torchtitan"));
  CHECK_FALSE(runs("pp=2,schedule=zbv,zero=2", "megatron"));
  CHECK(runs("pp=2,zero=1", "megatron"));
  CHECK_FALSE(runs("pp=2,zero=1", "torchtitan"));
  CHECK_FALSE(runs("zero=1", "generic"));  // no framework
  Problem named = problem;
  named.stack = Catalog().stack("megatron").value();
  CHECK_FALSE(Frameworks(named, all_stacks()).any());
  // What is described is a framework, whether or not it refuses anything; rules of somebody's own make none.
  named.stack.rules.clear();
  CHECK_FALSE(Frameworks(named, all_stacks()).any());
  named.stack = problem.stack;
  named.stack.rules = Catalog().stack("megatron").value().rules;
  CHECK(Frameworks(named, all_stacks()).any());
}

}  // namespace
}  // namespace foretrain
