#include "search/list_family.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "search/testing.h"

namespace foretrain {
namespace {

const std::vector<std::string> kSmall = {"schedule=1f1b,interleaved,zbv", "recompute=none,selective"};

AnswerRequest small() {
  AnswerRequest request;
  request.problem = problem_of("llama-3-8b", "dgx-h100", "megatron", {8}, 16);
  for (const std::string& set : kSmall)
    CHECK_THAT(request.constraints.add_set(set, request.problem).has_value());
  request.costs_for = [](const Cluster&) { return std::shared_ptr<const CostSource>(); };
  request.options.threads = 1;
  request.top = 1000;
  return request;
}

SearchAnswer answered(const AnswerRequest& request) {
  auto answer = answer_search(request);
  if (!answer) FAIL(answer.error().text());
  return *std::move(answer);
}

TEST_CASE("each plan kept is in one family, and the first of a family is its best") {
  const SearchAnswer answer = answered(small());
  const Space space = space_of(answer.problem, kSmall);
  std::set<std::string> seen;
  std::size_t plans = 0;
  for (const ListFamily& family : answer.families) {
    const std::string name = family_text(answer.problem, {family.best.run.gpus, family.best.run.plan});
    CHECK(seen.insert(name).second);
    plans += family.plans;
    const auto first =
        std::find_if(answer.result.best.begin(), answer.result.best.end(), [&](const ScoredPlan& plan) {
          return family_text(answer.problem, space.candidate(plan.index)) == name;
        });
    REQUIRE(first != answer.result.best.end());
    CHECK(*first == family.best.scored);
    CHECK(family.last.step >= family.best.scored.step);
  }
  CHECK(plans == answer.result.best.size());
  CHECK(seen.size() > 3);
  CHECK(answer.families.front().best.scored == answer.best.front().scored);
  CHECK_FALSE(answer.families.front().tie);
  for (std::size_t i = 1; i < answer.families.size(); ++i)
    CHECK(answer.families[i].best.scored.step >= answer.families[i - 1].best.scored.step);
}

TEST_CASE("a variant stays in its family, states what it changes, and is the nearest that does") {
  const SearchAnswer answer = answered(small());
  const Space space = space_of(answer.problem, kSmall);
  int variants = 0;
  for (const ListFamily& family : answer.families) {
    const Candidate best{family.best.run.gpus, family.best.run.plan};
    double before = family.best.scored.step;
    for (const FamilyVariant& variant : family.variants) {
      ++variants;
      CHECK_FALSE(variant.change.empty());
      const Candidate other{best.gpus, variant.plan};
      CHECK(family_text(answer.problem, other) == family_text(answer.problem, best));
      CHECK(variant.scored.step >= before);
      before = variant.scored.step;
      CHECK(variant.tie.difference.value ==
            doctest::Approx(variant.scored.step - family.best.scored.step).epsilon(1e-9));
      // The first word of the change, set for the whole search, leads to this plan or to another family.
      const std::string word = variant.change.substr(0, variant.change.find(','));
      for (const ScoredPlan& plan : answer.result.best) {
        const Candidate kept = space.candidate(plan.index);
        if (family_text(answer.problem, kept) != family_text(answer.problem, best)) continue;
        if (plan == variant.scored) break;
        const Dimension* d = find_dimension(word.substr(0, word.find('=')));
        if (!is_split(*d) && variant.change == word)
          CHECK(word_of(*d, answer.problem, kept) == word_of(*d, answer.problem, best));
      }
    }
  }
  CHECK(variants > 10);
}

TEST_CASE("another price leaves plans as they are, and no plan is looked at again") {
  AnswerRequest request = small();
  request.what_ifs = {"price_per_gpu_hour=2.5"};
  for (const Objective objective : {Objective::kTime, Objective::kMoney, Objective::kMemory}) {
    request.options.objective = objective;
    const SearchAnswer answer = answered(request);
    const WhatIfAnswer& what = answer.what_ifs.front();
    REQUIRE(what.best);
    CHECK(what.best->scored == answer.best.front().scored);
    CHECK(what.best->run.cluster.price_per_gpu_hour == 2.5);
    CHECK(what.counts == answer.result.counts);
  }
}

TEST_CASE("a budget that another price breaks leaves nothing, as a search of its own would") {
  AnswerRequest request = small();
  request.problem.cluster.price_per_gpu_hour = 1;
  request.tokens = 1e9;
  const SearchAnswer free = answered(request);
  const double steps = 1e9 / (16.0 * static_cast<double>(request.problem.seq));
  const double usd = std::ceil(steps) * free.best.front().scored.step * 8 / 3600;
  request.budget_usd = 1.5 * usd;
  request.what_ifs = {"price_per_gpu_hour=1.4", "price_per_gpu_hour=1.6"};
  const SearchAnswer answer = answered(request);
  CHECK(answer.what_ifs[0].best);
  CHECK_FALSE(answer.what_ifs[1].best);
  CHECK(answer.what_ifs[1].refused == "no plan fits and keeps to the limits");
}

TEST_CASE("with another link the best is that of a search of its own, though most of it is known") {
  AnswerRequest request = small();
  request.what_ifs = {"intra_gbytes=20", "usable_gib=60", "global_batch=32"};
  const SearchAnswer answer = answered(request);
  for (const WhatIfAnswer& what : answer.what_ifs) {
    CAPTURE(what.text);
    AnswerRequest own = small();
    own.problem = what_if(request.problem, what.text)->problem;
    const SearchAnswer alone = answered(own);
    REQUIRE(what.best);
    CHECK(what.best->scored.step == alone.best.front().scored.step);
    CHECK(what.best->run.plan == alone.best.front().run.plan);
  }
}

TEST_CASE("a plan that is asked for and was kept is what a search for it finds") {
  AnswerRequest request = small();
  request.whys = {"sp=0", "zero=1,pp=2", "overlap_param_gather=0", "schedule=zbv"};
  const SearchAnswer answer = answered(request);
  for (const Why& why : answer.whys) {
    CAPTURE(why.asked);
    REQUIRE(why.plan);
    AnswerRequest own = small();
    own.constraints = own.constraints.without("schedule");
    const std::string others = why.asked.starts_with("schedule") ? "" : ",schedule=1f1b,interleaved,zbv";
    REQUIRE(own.constraints.add_set(why.asked + others, own.problem).has_value());
    const SearchAnswer alone = answered(own);
    CHECK(why.plan->scored.step == alone.best.front().scored.step);
    CHECK(why.plan->run.plan == alone.best.front().run.plan);
  }
}

}  // namespace
}  // namespace foretrain
