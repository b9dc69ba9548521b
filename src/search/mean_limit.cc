#include "search/mean_limit.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_set>
#include <utility>

#include "search/watch.h"
#include "search/workers.h"

namespace foretrain {
namespace {

constexpr int kTries = 4;                // the plans that a tighter limit leaves may vary a little more
constexpr std::size_t kFewestKept = 16;  // some of which may miss the limit by their mean

// Whether it takes draws to know a mean: stalls alone add up to theirs.
bool draws_means(const Problem& problem, const Limits& limits) {
  const Jitter jitter = problem.cluster.jitter.value_or(Jitter{});
  return limits.training_steps && (limits.deadline_s || limits.budget_usd) &&
         (jitter.spread != 0 || jitter.message_spread != 0);
}

// Leaves out what misses the limits by its own mean; and, of more than the first few, what was not drawn when the search is told
// to stop. Whether all were drawn.
bool drop_late(const Space& space, const SearchOptions& options, Evaluators& evaluators,
               std::vector<ScoredPlan>& plans) {
  std::vector<unsigned char> keeps(plans.size());
  const Watch watch(space, options);
  std::atomic<bool> whole = true;
  Workers workers(evaluators, options.threads);
  workers.each(plans.size(), 4, [&](std::size_t i, std::size_t thread) {
    if (i >= kFewestKept && watch.asked_to_stop())
      whole = false;
    else
      keeps[i] = keeps_time(ranked(space, plans[i], workers.evaluator(thread)), options.limits);
  });
  std::size_t i = 0;
  std::erase_if(plans, [&](const ScoredPlan&) { return !keeps[i++]; });
  return whole;
}

// Whether it is so on all ranks: none searches again where another has stopped.
bool everywhere(bool so, Team* team) {
  if (team == nullptr) return so;
  for (const std::string& said : team->all_gather(so ? "" : "stop")) so = so && said.empty();
  return so;
}

}  // namespace

bool keeps_time(const RankedPlan& plan, const Limits& limits) {
  return plan.prediction.mean() <= limits.longest_mean(plan.run.gpus);
}

std::function<void(const SearchProgress&)> progress_after(std::uint64_t plans,
                                                          std::function<void(const SearchProgress&)> tell) {
  if (!tell || plans == 0) return tell;
  return [plans, tell = std::move(tell)](SearchProgress now) {
    now.done += plans;
    now.all += plans;
    tell(now);
  };
}

SearchResult search_by_mean(const Space& space, SearchOptions options, Evaluators& evaluators) {
  if (!draws_means(space.problem(), options.limits)) return search(space, nullptr, options);
  std::unordered_set<std::uint64_t> told;
  if (options.evaluated)
    options.evaluated = [&told, tell = options.evaluated](const ScoredPlan& plan,
                                                          const Candidate& candidate) {
      if (told.insert(plan.index).second) tell(plan, candidate);
    };
  const auto progress = options.progress;
  const std::size_t keep = options.keep;
  options.keep = std::max(keep, kFewestKept);
  for (int i = 0;; ++i) {
    options.progress = progress_after(static_cast<std::uint64_t>(i) * space.size(), progress);
    SearchResult result = search(space, nullptr, options);
    if (result.best.empty()) return result;
    const ScoredPlan first = result.best.front();
    const bool of_best = drop_late(space, options, evaluators, result.best);
    const bool of_front = drop_late(space, options, evaluators, result.pareto);
    if (!everywhere(of_best && of_front, options.team)) result.interrupted = true;
    if (result.best.size() > keep) result.best.resize(keep);
    if (!result.best.empty() || result.interrupted || i == kTries) return result;
    const Seconds mean = ranked(space, first, evaluators.first()).prediction.mean();
    options.limits.varied *= mean / options.limits.mean_of(Seconds(first.step), first.gpus);
  }
}

}  // namespace foretrain
