#include "search/own_words.h"

#include <doctest/doctest.h>

#include <set>

#include "search/engine.h"
#include "search/testing.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

Problem on_b200() { return problem_of("llama-3-8b", "dgx-b200", "megatron-bridge", {8}, 8); }

std::set<std::string> words(const Space& space, std::string_view key) {
  const Dimension& dimension = *find_dimension(key);
  std::set<std::string> seen;
  for (const Family& family : families_of(space))
    seen.insert(word_of(dimension, space.problem(), shared_by(family, space.problem())));
  return seen;
}

std::string error_of(const std::string& set, Problem problem = on_b200()) {
  Constraints constraints;
  const auto added = constraints.add_set(set, problem);
  return added ? std::string() : added.error().message;
}

TEST_CASE("recipes and graphs are searched where they are set, by name, family and combination") {
  const Space plain = space_of(on_b200(), {"pp=1", "tp=1"});
  CHECK(words(plain, "precision") == std::set<std::string>{"bf16"});
  CHECK(words(plain, "cuda_graph") == std::set<std::string>{"unset"});
  const Space wide =
      space_of(on_b200(), {"pp=1", "tp=1", "precision=bf16,mxfp8,fp8", "cuda_graph=none,attn+mlp,full"});
  CHECK(words(wide, "precision") == std::set<std::string>{"bf16", "fp8", "mxfp8"});
  CHECK(words(wide, "cuda_graph") == std::set<std::string>{"none", "attn+mlp", "full"});
  // Full recomputation goes with no graph of a part of a layer: the other eight combinations of three and three hold
  // as many plans as the plain space each, less these.
  const Space repeated = space_of(on_b200(), {"pp=1", "tp=1", "recompute=full", "precision=bf16,mxfp8,fp8",
                                              "cuda_graph=none,attn+mlp,full"});
  CHECK(repeated.size() == 6 * space_of(on_b200(), {"pp=1", "tp=1", "recompute=full"}).size());
}

TEST_CASE("what is not searched is said once, until it is asked for") {
  const auto values = [](const Space& space) {
    std::vector<std::string> all;
    for (const LeftOut& left : space.left_out()) all.push_back(left.values);
    return all;
  };
  CHECK(values(space_of(on_b200())) ==
        std::vector<std::string>{"cp > 1", "precision other than bf16", "cuda_graph other than none"});
  CHECK(values(space_of(on_b200(), {"precision=bf16,nvfp4", "cuda_graph=full"})) ==
        std::vector<std::string>{"cp > 1"});
  // An A100 multiplies nothing narrower than the passes, and this stack captures nothing.
  CHECK(values(space_of(problem_of("gpt2", "dgx-a100", "neox", {8}, 8))) ==
        std::vector<std::string>{"cp > 1"});
}

TEST_CASE("a word that no plan can have is refused with the plan's reason") {
  CHECK(error_of("precision=mxfp4") ==
        "precision: stack 'megatron-bridge' does not run 'mxfp4'; did you mean 'mxfp8'?");
  CHECK(error_of("precision=mxfp8", problem_of("llama-3-8b", "dgx-h100", "megatron-bridge", {8}, 8)) ==
        "gpu 'h100-80gb-sxm' has no mxfp8 rate, which recipe mxfp8 needs");
  CHECK(error_of("cuda_graph=attn", problem_of("gpt2", "dgx-h100", "neox", {8}, 8)) ==
        "cuda_graph: stack 'neox' captures none, expected none");
}

// Copies in fewer bits lie beside weights, on the stages that have such layers: bounds must not count more of them.
TEST_CASE("bounds lose nothing where products are in fewer bits") {
  for (const char* recipe : {"precision=mxfp8", "precision=bf16,mxfp8", "precision=fp8,bf16_layers=1-1",
                             "precision=fp8,fp8_params=1"})
    for (const double share : {0.02, 0.03, 0.04, 0.06}) {
      Problem problem = problem_of("llama-2-7b", "dgx-b200", "megatron", {4}, 4);
      problem.model.blocks.front().count = 4;
      problem.seq = 512;
      const Space space =
          space_of(problem, {recipe, "recompute=none,full", "zero=0,1", "schedule=1f1b,gpipe"});
      SearchOptions options = options_for(space.problem());
      options.limits.memory = options.limits.memory * share;
      const SearchResult bounded = search(space, nullptr, options);
      options.bounds = false;
      const SearchResult brute = search(space, nullptr, options);
      INFO(recipe, " ", share);
      CHECK(bounded.best == brute.best);
      CHECK(bounded.pareto == brute.pareto);
    }
}

// As in a plan's text, a word may say two things.
TEST_CASE("words of plans that say two things are words of the search") {
  const auto given = [](const std::string& set) {
    Problem problem = on_b200();
    Constraints constraints;
    CHECK(constraints.add_set(set, problem).has_value());
    return constraints.all().front().set_words.front() + "; " + to_text(problem.given);
  };
  CHECK(given("attention=flash2") == "flash; attention_kernel=flash2");
  CHECK(given("optimizer=paged_adamw_8bit") == "adamw_8bit; paged=1");
  CHECK(given("optimizer=paged_adamw") == "adamw; paged=1");
  CHECK(error_of("attention=cudnn,unfused") ==
        "attention: found 'unfused' beside 'cudnn', which says attention_kernel=cudnn of every plan, "
        "expected it "
        "alone");
}

}  // namespace
}  // namespace foretrain
