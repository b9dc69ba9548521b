#include "search/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "job/run_check.h"
#include "search/one_plan.h"
#include "search/watch.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostNear = 3;

using Words = std::vector<std::pair<std::string, std::string>>;

// The user's constraints, but where the plan states a value.
Result<Constraints> constraints_of(const Words& words, const Constraints& others, Problem& problem) {
  Constraints out = others;
  for (const auto& [key, word] : words) out = out.without(key);
  for (const auto& [key, word] : words) TRY(out.add_set(fmt::format("{}={}", key, word), problem));
  return out;
}

// The first of the user's own constraints that a stated value breaks.
Result<std::string> broken(const Words& words, const AnswerRequest& request) {
  for (const auto& [key, word] : words) {
    Problem problem = request.problem;
    Constraints stated;
    TRY(stated.add_set(fmt::format("{}={}", key, word), problem));
    if (const Constraint* own = request.constraints.find(key))
      if (!own->allows(stated.find(key)->set.front())) return own->text();
  }
  return std::string();
}

// The rule that refuses the plan with everything else at its default, on the GPU count that was asked for
// last.
std::string rule_of(const AskedPlan& asked, const Problem& problem) {
  Run run = run_without_plan(problem);
  run.gpus = problem.gpus.back();
  run.plan = asked.plan;
  const auto checked = check_run(run);
  return checked ? "no legal plan has these choices together" : checked.error().message;
}

// The best plan that is as asked, where the search kept one: the first of the plans kept, before which there is nothing
// that was lost. Not for dimensions of which a search that is asked looks at more.
std::optional<RankedPlan> kept_as_asked(const Words& words, const Problem& problem,
                                        const Constraints& constraints, const SearchAnswer& answer,
                                        const Space& space, Evaluators& evaluators) {
  for (const auto& [key, word] : words) {
    const Dimension* d = find_dimension(key);
    if (d->asked != nullptr || d->most != nullptr) return std::nullopt;
  }
  for (const ScoredPlan& plan : answer.result.best) {
    const Candidate candidate = space.candidate(plan.index);
    if (std::all_of(words.begin(), words.end(), [&](const auto& pair) {
          return constraints.allows(pair.first, find_dimension(pair.first)->get(problem, candidate));
        }))
      return ranked(space, plan, evaluators.first());
  }
  return std::nullopt;
}

std::string limit_of(const RankedPlan& smallest, const SearchOptions& options) {
  if (smallest.prediction.needed > options.limits.memory)
    return fmt::format("it needs {} on its worst GPU at least, and may use {}",
                       human_bytes(smallest.prediction.needed), human_bytes(options.limits.memory));
  return fmt::format("it misses the deadline or the budget: a step may take {}{}",
                     human_seconds(options.limits.longest_mean(smallest.run.gpus)),
                     smallest.prediction.jitter ? " in the mean" : "");
}

}  // namespace

Result<AskedPlan> parse_why(const std::string& text, const Problem& problem) {
  AskedPlan asked;
  TRY_ASSIGN(asked.plan, parse_plan(text, problem.given));
  if (const auto reason = not_modelled(asked.plan)) return fail("not modelled yet: " + *reason);
  for (const std::string_view part : split(text, ',')) {
    if (trim(part).empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string key(trim(part.substr(0, equals)));
    if (find_dimension(key) == nullptr)
      return fail(fmt::format("{}: is not searched, expected other keys of a plan", key));
    asked.words.emplace_back(key, trim(part.substr(equals + 1)));
  }
  if (asked.words.empty()) return fail("found no choice, expected a plan such as tp=4,pp=2");
  Problem with_splits = problem;
  TRY(constraints_of(asked.words, {}, with_splits));
  return asked;
}

Result<Why> explain_why(const AnswerRequest& request, const SearchAnswer& answer, const Space& space,
                        Evaluators& evaluators, const std::string& text) {
  TRY_ASSIGN(const AskedPlan asked, parse_why(text, request.problem));
  const SearchOptions options = options_for(request, request.problem);
  Why why;
  why.asked = text;
  TRY_ASSIGN(why.rejected, broken(asked.words, request));
  Problem problem = request.problem;
  TRY_ASSIGN(const Constraints constraints, constraints_of(asked.words, request.constraints, problem));
  if (why.rejected.empty())
    why.plan = kept_as_asked(asked.words, problem, constraints, answer, space, evaluators);
  std::optional<Space> own;
  if (!why.plan) {
    TRY_ASSIGN(own, Space::make(problem, constraints, options.threads, stop_of_counting(options)));
    why.plan = best_of(*own, options, evaluators);
  }
  if (!why.plan) {
    why.plan = smallest_of(*own, options, evaluators);
    const std::string reason = why.plan ? limit_of(*why.plan, options) : rule_of(asked, request.problem);
    if (why.rejected.empty()) why.rejected = reason;
  }
  if (why.plan) {
    for (const ScoredPlan& plan : answer.result.best)
      why.better += key_of(options.objective, plan) < key_of(options.objective, why.plan->scored);
    why.beyond = why.better == answer.result.best.size() && answer.result.best.size() == options.keep;
    if (!answer.best.empty()) why.tie = compare(answer.best.front().prediction, why.plan->prediction);
  }
  if (why.rejected.empty()) return why;

  // One of the stated choices given up, within the user's own constraints.
  for (std::size_t i = 0; i < asked.words.size(); ++i) {
    Words rest = asked.words;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    TRY_ASSIGN(const std::string still, broken(rest, request));
    if (!still.empty()) continue;
    Problem freed = request.problem;
    TRY_ASSIGN(const Constraints less, constraints_of(rest, request.constraints, freed));
    TRY_ASSIGN(const Space wider, Space::make(freed, less, options.threads, stop_of_counting(options)));
    auto near = best_of(wider, options, evaluators);
    if (!near) continue;
    const auto& [key, word] = asked.words[i];
    const Dimension* dimension = find_dimension(key);
    const Candidate candidate{near->run.gpus, near->run.plan};
    const std::string now = word_of(*dimension, freed, candidate);
    why.near.push_back({fmt::format("{}={} instead of {}={}", key, now, key, word), *std::move(near)});
  }
  std::stable_sort(why.near.begin(), why.near.end(), [&](const NearPlan& a, const NearPlan& b) {
    return better(options.objective, a.plan.scored, b.plan.scored);
  });
  if (why.near.size() > kMostNear) why.near.resize(kMostNear);
  return why;
}

}  // namespace foretrain
