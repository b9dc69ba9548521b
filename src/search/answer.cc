#include "search/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "job/run_check.h"
#include "predict/uncertainty.h"
#include "search/frameworks.h"
#include "search/list_family.h"
#include "search/mean_limit.h"
#include "search/one_plan.h"
#include "search/watch.h"
#include "search/what_if_answer.h"
#include "search/why.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostGpus = 10'000'000;
constexpr int kDoublings = 6;

// What would have to change for a plan to come in: a constraint, the headroom, the deadline, more GPUs.
Result<std::vector<NearPlan>> would_fit(const AnswerRequest& request, Evaluators& evaluators) {
  std::vector<NearPlan> found;
  const auto attempt = [&](std::string change, const Problem& problem, const Constraints& constraints,
                           const SearchOptions& options) -> Result<bool> {
    TRY_ASSIGN(const Space space,
               Space::make(problem, constraints, options.threads, stop_of_counting(options)));
    auto best = best_of(space, options, evaluators);
    if (!best) return false;
    found.push_back({std::move(change), *std::move(best)});
    return true;
  };
  const Problem& problem = request.problem;
  const SearchOptions options = options_for(request, problem);
  for (const Constraint& constraint : request.constraints.all()) {
    if (constraint.key == "gpus") continue;
    TRY(attempt("without " + constraint.text(), problem, request.constraints.without(constraint.key),
                options));
  }
  if (request.headroom_share > 0 || request.headroom > Bytes(0)) {
    SearchOptions all = options;
    all.limits.memory = most_that_fits(problem.cluster.gpu.usable, problem.stack.described);
    TRY(attempt("without headroom", problem, request.constraints, all));
  }
  const auto without = [&](bool deadline, bool budget, std::string change) {
    SearchOptions any = options;
    if (deadline) any.limits.deadline_s = std::nullopt;
    if (budget) any.limits.budget_usd = std::nullopt;
    return attempt(std::move(change), problem, request.constraints, any);
  };
  bool one_is_enough = false;  // of the two limits
  if (request.deadline_s) {
    TRY_ASSIGN(one_is_enough, without(true, false, "with a later deadline"));
  }
  if (request.budget_usd) {
    TRY_ASSIGN(const bool enough, without(false, true, "with a larger budget"));
    one_is_enough = one_is_enough || enough;
  }
  if (request.deadline_s && request.budget_usd && !one_is_enough) {
    TRY(without(true, true, "with a later deadline and a larger budget"));
  }
  Problem more = problem;
  more.gpus = {std::max(problem.gpus.back(), problem.cluster.gpus_per_node / 2)};
  for (int i = 0; i < kDoublings && 2 * more.gpus.front() <= kMostGpus; ++i) {
    more.gpus.front() *= 2;
    TRY_ASSIGN(const bool fits, attempt(fmt::format("on {} GPUs", more.gpus.front()), more,
                                        request.constraints.without("gpus"), options));
    if (fits) break;
  }
  return found;
}

constexpr double kLongestTime = 1e9;  // seconds: what a clock of nanoseconds can add

// Which frameworks launch what is listed.
void mark_frameworks(const AnswerRequest& request, SearchAnswer& answer) {
  if (!request.frameworks || answer.best.empty() || is_framework(request.problem.stack)) return;
  Frameworks frameworks(request.problem, request.frameworks());
  if (!frameworks.any()) return;
  const auto mark = [&](RankedPlan& plan) {
    plan.launched_by = frameworks.that_launch({plan.run.gpus, plan.run.plan});
  };
  for (RankedPlan& plan : answer.best) mark(plan);
  for (ListFamily& family : answer.families) mark(family.best);
  for (RankedPlan& plan : answer.pareto) mark(plan);
}

// Why intervals in the list reach so far, where the best's own does not, which says it of itself.
void note_retries(SearchAnswer& answer) {
  const auto retries = [](const RankedPlan& plan) { return plan.prediction.uncertain.retries; };
  if (answer.best.empty() || retries(answer.best.front())) return;
  if (std::any_of(answer.best.begin(), answer.best.end(), retries) ||
      std::any_of(answer.families.begin(), answer.families.end(),
                  [&](const ListFamily& family) { return retries(family.best); }))
    answer.assumed.emplace_back(
        "where an interval of the list reaches to 2.5 times the step: torch's allocator would keep more than "
        "a "
        "GPU has and gives memory back in every step, which is not timed");
}

// A best plan that divides sequences, where nobody asked for it, says what that gains.
std::vector<std::string> whys_of(const AnswerRequest& request, const SearchAnswer& answer) {
  std::vector<std::string> whys = request.whys;
  if (answer.best.empty() || answer.best.front().run.plan.cp == 1) return whys;
  const auto& constraints = request.constraints.all();
  const bool asked = std::any_of(constraints.begin(), constraints.end(),
                                 [](const Constraint& c) { return c.key.rfind("cp", 0) == 0; });
  if (!asked && !request.time_s) whys.insert(whys.begin(), "cp=1");
  return whys;
}

}  // namespace

std::optional<double> SearchAnswer::gap() const {
  if (!result.open || result.best.empty() || *result.open <= 0) return std::nullopt;
  return std::max(0.0, 1 - *result.open / key_of(options.objective, result.best.front()));
}

Result<void> check_questions(const AnswerRequest& request) {
  for (const std::string& text : request.what_ifs) TRY(of_field("what_if", what_if(request.problem, text)));
  for (const std::string& text : request.whys) TRY(of_field("why", parse_why(text, request.problem)));
  return {};
}

Result<SearchAnswer> answer_search(const AnswerRequest& request) {
  SearchAnswer answer;
  const auto begin = std::chrono::steady_clock::now();
  answer.problem = request.problem;
  answer.options = options_for(request, request.problem);
  answer.profile = request.profile;
  answer.tokens = request.tokens;
  for (const Constraint& constraint : request.constraints.all())
    answer.constraints.push_back(constraint.text());
  TRY(check_questions(request));
  TRY_ASSIGN(auto costs, request.costs_for(request.problem.cluster));
  Evaluators evaluators(request.problem, std::move(costs));
  SearchOptions timed = answer.options;  // the questions after it have no limit
  if (request.time_s)
    timed.until = begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double>(std::min(*request.time_s, kLongestTime)));
  TRY_ASSIGN(const Space space, Space::make(request.problem, request.constraints, request.options.threads,
                                            stop_of_counting(timed)));
  answer.left_out = space.left_out();
  timed.evaluators = &evaluators;
  if (!is_framework(request.problem.stack)) timed.beside = request.read_stack;
  answer.result = search_by_mean(space, timed, evaluators);
  const auto& best = answer.result.best;
  Evaluator& evaluator = evaluators.first();
  for (std::size_t i = 0; i < std::min(request.top, best.size()); ++i) {
    answer.best.push_back(ranked(space, best[i], evaluator));
    if (i == 0) continue;
    const Tie tie = compare(answer.best.front().prediction, answer.best[i].prediction);
    if (tie.tied) answer.ties.push_back({i, tie});
  }
  answer.families = list_families(space, answer.result, request.top, evaluator);
  if (answer.families.size() < best.size())
    answer.list_note = fmt::format(
        "each the best of its tp, pp, dp, ep, cp and zero among the {} plans kept; {} lists every plan",
        with_commas(static_cast<std::int64_t>(best.size())), marked("all"));
  for (const ScoredPlan& plan : answer.result.pareto) answer.pareto.push_back(ranked(space, plan, evaluator));
  mark_frameworks(request, answer);
  answer.assumed = request.assumed;
  if (!answer.best.empty())
    for (const std::string& line : answer.best.front().prediction.assumed) answer.assumed.push_back(line);
  note_retries(answer);
  if (answer.result.interrupted) return answer;
  // What a search says that was told to stop is not an answer: it is left out.
  const auto stopped = [&] {
    const std::atomic<bool>* stop = request.options.stop;
    return answer.result.interrupted = stop != nullptr && stop->load(std::memory_order_relaxed);
  };
  if (best.empty() && space.size() > 0) {
    auto smallest = smallest_of(space, answer.options, evaluators);
    TRY_ASSIGN(auto near, would_fit(request, evaluators));
    if (stopped()) return answer;
    answer.smallest = std::move(smallest);
    answer.would_fit = std::move(near);
  }
  for (const std::string& text : whys_of(request, answer)) {
    TRY_ASSIGN(Why why, explain_why(request, answer, space, evaluators, text));
    if (stopped()) return answer;
    answer.whys.push_back(std::move(why));
  }
  for (const std::string& text : request.what_ifs) {
    TRY_ASSIGN(WhatIfAnswer what,
               of_field("what_if", answer_what_if(request, answer, space, evaluators, text)));
    if (stopped()) return answer;
    answer.what_ifs.push_back(std::move(what));
  }
  return answer;
}

void spell(SearchAnswer& answer, const FieldWords& words) {
  const auto in_words = [&words](std::string& text) { text = spelled(text, words); };
  for (std::string& text : answer.constraints) in_words(text);
  in_words(answer.list_note);
  for (LeftOut& left : answer.left_out) in_words(left.reason);
  for (TiedPlan& plan : answer.ties) in_words(plan.tie.settles);
  for (ListFamily& family : answer.families) {
    if (family.tie) in_words(family.tie->settles);
    for (FamilyVariant& variant : family.variants) in_words(variant.tie.settles);
  }
  for (NearPlan& near : answer.would_fit) in_words(near.change);
  for (Why& why : answer.whys) {
    in_words(why.rejected);
    if (why.tie) in_words(why.tie->settles);
    for (NearPlan& near : why.near) in_words(near.change);
  }
}

}  // namespace foretrain
