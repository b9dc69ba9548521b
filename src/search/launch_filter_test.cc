#include "search/launch_filter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

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

// Dense, with experts, with latent attention; one GPU, a node and several; little and much data.
constexpr std::array kAsked = {
    Asked{"gpt2", "dgx-h100", 1, 8},           Asked{"gpt2", "dgx-h100", 4, 12},
    Asked{"gpt2-xl", "dgx-a100", 8, 16},       Asked{"gpt2-xl", "dgx-a100", 16, 64},
    Asked{"llama-3-8b", "dgx-h100", 8, 8},     Asked{"llama-3-8b", "dgx-h100", 16, 48},
    Asked{"llama-3-8b", "dgx-h200", 32, 32},   Asked{"mixtral-8x7b", "dgx-h100", 16, 16},
    Asked{"mixtral-8x7b", "dgx-h100", 32, 64}, Asked{"deepseek-v2-lite", "dgx-h100", 8, 16},
    Asked{"llama-3-70b", "dgx-h100", 32, 32},  Asked{"gpt3-175b", "selene", 64, 64},
};

std::vector<Stack> all_stacks() {
  const Catalog catalog;
  std::vector<Stack> stacks;
  for (const std::string& name : catalog.names("stacks")) stacks.push_back(catalog.stack(name).value());
  return stacks;
}

TEST_CASE("no plan that a search looks at is refused for its stack") {
  constexpr std::uint64_t kLooked = 400;  // of each space, from all over it
  std::size_t none = 0;
  for (const Stack& stack : all_stacks())
    for (const Asked& asked : kAsked) {
      Problem problem = problem_of(asked.model, asked.cluster, "generic", {asked.gpus}, asked.batch);
      problem.stack = stack;
      const auto space = Space::make(problem, {});
      REQUIRE(space.has_value());
      Run run = run_without_plan(problem);
      none += space->size() == 0;
      const std::uint64_t stride = std::max<std::uint64_t>(1, space->size() / kLooked);
      for (std::uint64_t i = 0; i < space->size(); i += stride) {
        const Candidate c = space->candidate(i);
        run.plan = c.plan;
        run.gpus = c.gpus;
        const auto checked = check_run(run);
        INFO(stack.name, " ", asked.model, " ", to_text(c.plan));
        CHECK((checked ? "" : checked.error().message) == "");
      }
    }
  CHECK(none < kAsked.size() * all_stacks().size() / 2);  // most stacks run most models
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
