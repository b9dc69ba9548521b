#include "search/one_plan.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "job/run_check.h"
#include "predict/uncertainty.h"
#include "search/mean_limit.h"

namespace foretrain {
SearchOptions options_for(const AnswerRequest& request, const Problem& problem) {
  SearchOptions options = request.options;
  const Bytes usable = problem.cluster.gpu.usable;
  options.limits.memory =
      most_that_fits(usable * (1 - request.headroom_share) - request.headroom, problem.stack.described);
  if (request.tokens)
    options.limits.training_steps = std::ceil(
        *request.tokens / (static_cast<double>(problem.global_batch) * static_cast<double>(problem.seq)));
  options.limits.deadline_s = request.deadline_s;
  options.limits.budget_usd = request.budget_usd;
  if (options.limits.training_steps)
    options.limits.pauses_s = paused(problem.pauses, *options.limits.training_steps).value;
  const Jitter jitter = problem.cluster.jitter.value_or(Jitter{});
  options.limits.stalled = jitter.stalls_per_node_hour / 3600 * jitter.stall.value;
  options.limits.gpus_per_node = problem.cluster.gpus_per_node;
  if (problem.cluster.price_per_gpu_hour)
    options.limits.usd_per_gpu_second = *problem.cluster.price_per_gpu_hour / 3600;
  return options;
}

RankedPlan ranked(const Space& space, const ScoredPlan& scored, Evaluator& evaluator) {
  const Candidate candidate = space.candidate(scored.index);
  RankedPlan out;
  out.scored = scored;
  out.run = run_without_plan(space.problem());
  out.run.plan = candidate.plan;
  out.run.gpus = candidate.gpus;
  CHECK_THAT(check_run(out.run).has_value());
  out.prediction = predict(out.run, evaluator);
  return out;
}

SearchOptions one_plan(SearchOptions options) {
  options.keep = 1;
  options.front = FrontKind::kNone;
  options.progress = nullptr;
  options.evaluated = nullptr;
  options.team = nullptr;
  return options;
}

std::optional<RankedPlan> best_of(const Space& space, const SearchOptions& options, Evaluators& evaluators) {
  SearchOptions one = one_plan(options);
  one.evaluators = &evaluators;
  const SearchResult result = search_by_mean(space, one, evaluators);
  if (result.best.empty()) return std::nullopt;
  return ranked(space, result.best.front(), evaluators.first());
}

std::optional<RankedPlan> smallest_of(const Space& space, SearchOptions options, Evaluators& evaluators) {
  options.objective = Objective::kMemory;
  options.limits = {};
  options.limits.memory = Bytes(std::numeric_limits<double>::infinity());
  return best_of(space, options, evaluators);
}

namespace {

// The step that the shortest of these plans takes in this problem, of those that are legal there and keep to the limits.
std::optional<double> shortest_step(std::span<const Candidate> plans, const Problem& problem,
                                    const Limits& limits, Evaluator& evaluator) {
  constexpr std::size_t kTried = 32;
  std::optional<double> shortest;
  for (const Candidate& candidate : plans.first(std::min(kTried, plans.size()))) {
    if (std::find(problem.gpus.begin(), problem.gpus.end(), candidate.gpus) == problem.gpus.end()) continue;
    Run run = run_without_plan(problem);
    run.plan = candidate.plan;
    run.gpus = candidate.gpus;
    if (!check_run(run)) continue;
    const Score score = evaluator.score(run.plan, run.global_batch);
    if (score.needed > limits.memory || score.step > limits.longest_step(run.gpus)) continue;
    if (!shortest || score.step.value < *shortest) shortest = score.step.value;
  }
  return shortest;
}

// As a limit of the search; a thousandth more than it, for what a bound may be off.
void limit_step(Limits& limits, double step) {
  limits.step_s = std::min(limits.step_s.value_or(step * 1.001), step * 1.001);
}

}  // namespace

SearchResult search_from(const Space& space, const SearchOptions& options, Evaluators& evaluators,
                         std::span<const Candidate> known) {
  CHECK_THAT(options.keep == 1 && options.front == FrontKind::kNone);
  SearchOptions limited = options;
  limited.evaluators = &evaluators;
  // Of one GPU count the shortest step is the cheapest too.
  const bool by_step = options.objective == Objective::kTime ||
                       (options.objective == Objective::kMoney && space.problem().gpus.size() == 1);
  std::optional<double> step;
  if (by_step) step = shortest_step(known, space.problem(), options.limits, evaluators.first());
  if (step) limit_step(limited.limits, *step);
  const SearchResult result = search_by_mean(space, limited, evaluators);
  // The step may be that of a plan which is not in the space, or fills the host's memory.
  if (!step || !result.best.empty() || result.interrupted) return result;
  limited.limits = options.limits;
  limited.progress = progress_after(space.size(), options.progress);
  return search_by_mean(space, limited, evaluators);
}

}  // namespace foretrain
