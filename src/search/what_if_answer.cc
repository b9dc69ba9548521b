#include "search/what_if_answer.h"

#include <algorithm>

#include "search/mean_limit.h"
#include "search/one_plan.h"
#include "search/watch.h"

namespace foretrain {
namespace {

constexpr const char* kNoneFits = "no plan fits and keeps to the limits";

// Whether the answer that is there holds with another price: plans do not change their order, and those that are kept
// still keep to the limits. Of one GPU count the shortest step is the cheapest too, so that a budget is kept by it or
// by none.
bool only_price_changed(const AnswerRequest& request, const Problem& changed) {
  Problem same = changed;
  same.cluster.price_per_gpu_hour = request.problem.cluster.price_per_gpu_hour;
  const Objective objective = request.options.objective;
  const bool by_step = objective == Objective::kTime || objective == Objective::kMoney;
  return same == request.problem && (!request.budget_usd || (by_step && changed.gpus.size() == 1));
}

WhatIfAnswer at_another_price(const SearchAnswer& answer, const WhatIf& changed, const Limits& limits) {
  WhatIfAnswer out{.text = changed.text, .counts = answer.result.counts};
  out.best = answer.best.front();
  out.best->run.cluster = changed.problem.cluster;
  if (keeps_time(*out.best, limits)) return out;
  out.best.reset();
  out.refused = kNoneFits;
  return out;
}

// The plans that were found, the best first.
std::vector<Candidate> found_plans(const SearchAnswer& answer, const Space& space) {
  constexpr std::size_t kMost = 32;
  std::vector<Candidate> plans;
  for (const ScoredPlan& plan : answer.result.best) {
    if (plans.size() == kMost) break;
    plans.push_back(space.candidate(plan.index));
  }
  return plans;
}

// Whether a change changes nothing that an answer tells.
bool is_the_same(const RankedPlan& a, const RankedPlan& b) {
  return a.run.plan == b.run.plan && a.run.gpus == b.run.gpus && a.run.seq == b.run.seq &&
         a.run.global_batch == b.run.global_batch &&
         a.run.cluster.price_per_gpu_hour == b.run.cluster.price_per_gpu_hour &&
         a.prediction.step.value == b.prediction.step.value && a.prediction.needed == b.prediction.needed;
}

}  // namespace

Result<WhatIfAnswer> answer_what_if(const AnswerRequest& request, const SearchAnswer& answer,
                                    const Space& space, Evaluators& evaluators, const std::string& text) {
  TRY_ASSIGN(const WhatIf changed, what_if(request.problem, text));
  const Problem& problem = changed.problem;
  const SearchOptions options = options_for(request, problem);
  WhatIfAnswer out{.text = changed.text};
  if (only_price_changed(request, problem) && !answer.best.empty()) {
    out = at_another_price(answer, changed, options.limits);
  } else {
    std::optional<Evaluators> others;
    if (!evaluators.serve(problem)) {
      TRY_ASSIGN(auto costs, request.costs_for(problem.cluster));
      others.emplace(problem, std::move(costs));
    }
    const bool gpus = problem.gpus != request.problem.gpus;
    TRY_ASSIGN(const Space own,
               Space::make(problem, gpus ? request.constraints.without("gpus") : request.constraints,
                           options.threads, stop_of_counting(options)));
    const SearchResult result =
        search_from(own, one_plan(options), others ? *others : evaluators, found_plans(answer, space));
    out.counts = result.counts;
    if (result.best.empty())
      out.refused = own.size() == 0 ? "there is no legal plan" : kNoneFits;
    else
      out.best = ranked(own, result.best.front(), (others ? *others : evaluators).first());
  }
  out.changes = !out.best || answer.best.empty() || !is_the_same(answer.best.front(), *out.best);
  return out;
}

}  // namespace foretrain
