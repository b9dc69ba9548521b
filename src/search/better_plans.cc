#include "search/better_plans.h"

#include <algorithm>
#include <chrono>

#include "job/job.h"
#include "predict/uncertainty.h"
#include "search/one_change.h"
#include "search/one_plan.h"
#include "search/ties.h"
#include "search/watch.h"

namespace foretrain {
namespace {

constexpr int kMostRounds = 8;  // of changes one after another, each the best of its round
constexpr double kLongest = 600;

bool fits(const Run& run, Evaluator& evaluator) {
  const Weighed weighed = evaluator.weigh(run.plan, run.global_batch);
  if (weighed.needed() > most_that_fits(run.cluster.gpu.usable, run.stack.described)) return false;
  const Bytes host = run.cluster.host_memory;
  return host <= Bytes(0) || weighed.host() <= host;
}

struct Scored {
  std::string_view choice;
  Run run;
  Seconds step;
};

// Plans one change away that fit, the fastest first.
std::vector<Scored> faster(const Run& run, Seconds than, Evaluator& evaluator) {
  std::vector<Scored> found;
  for (OneChange& change : one_change_away(run)) {
    if (!fits(change.run, evaluator)) continue;
    const Score score = evaluator.score(change.run.plan, run.global_batch);
    if (score.step < than) found.push_back({change.choice, std::move(change.run), score.step});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Scored& a, const Scored& b) { return a.step < b.step; });
  return found;
}

BetterPlan better(const Run& run, const Prediction& own, Evaluator& evaluator) {
  BetterPlan out{run, predict(run, evaluator)};
  out.gain = 1 - out.prediction.step.value / own.step.value;
  out.tied = compare(own, out.prediction).tied;
  return out;
}

// What the run says of its training is what every plan has.
Problem problem_of(const Run& run) {
  Problem problem{run.model, run.cluster, run.stack, run.seq, run.global_batch, {run.gpus}};
  problem.documents = run.documents;
  problem.given = run.plan;
  problem.given.recompute_modules = {};
  problem.given.layers_per_stage.clear();
  problem.given.shard = 0;
  return problem;
}

// Choices that a search leaves at their plain value unless it is asked: those of the run are kept.
Result<Constraints> kept_choices(const Run& run, Problem& problem) {
  Constraints constraints;
  const Candidate own{run.gpus, run.plan};
  for (const Dimension& dimension : dimensions()) {
    if (dimension.scope != Scope::kAllowed || dimension.read != nullptr) continue;
    const std::string word = word_of(dimension, problem, own);
    if (word != "unset") TRY(constraints.add_set(std::string(dimension.name) + "=" + word, problem));
  }
  return constraints;
}

// The best plan of a search that is stopped after so many seconds and looks at nothing slower than `known`.
std::optional<Run> searched(const Run& run, const Run& known, const std::shared_ptr<const CostSource>& costs,
                            double seconds, const MachineShare& share, BetterPlans& out) {
  const auto begin = std::chrono::steady_clock::now();
  Problem problem = problem_of(run);
  auto constraints = kept_choices(run, problem);
  if (!constraints) return std::nullopt;  // the run has what no search goes through
  const Problem copy = problem;
  AnswerRequest limits;
  SearchOptions options = one_plan(options_for(limits, copy));
  options.threads = share.threads;
  options.stop = share.stop;
  options.until = begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double>(std::min(seconds, kLongest)));
  auto space =
      Space::make(std::move(problem), *std::move(constraints), options.threads, stop_of_counting(options));
  if (!space || space->size() == 0) return std::nullopt;
  Evaluators evaluators(copy, costs);
  const Candidate start[] = {{known.gpus, known.plan}};
  const SearchResult result = search_from(*space, options, evaluators, start);
  out.candidates = space->size();
  out.is_interrupted = result.interrupted;
  if (result.best.empty()) return std::nullopt;
  Run best = run;
  best.plan = space->candidate(result.best.front().index).plan;
  return best;
}

}  // namespace

BetterPlans better_plans(const Run& run, const Prediction& own, Evaluator& evaluator,
                         const std::shared_ptr<const CostSource>& costs, double seconds, std::size_t most,
                         const MachineShare& share) {
  BetterPlans out;
  const Seconds step(own.step.value);
  std::vector<Scored> first = faster(run, step * (1 - kLeastGain), evaluator);
  std::vector<std::string_view> told;  // of each choice its best value alone
  for (const Scored& change : first) {
    if (told.size() == most || std::find(told.begin(), told.end(), change.choice) != told.end()) continue;
    told.push_back(change.choice);
    out.one_change.push_back(better(change.run, own, evaluator));
  }
  // One good change after another, so that a short search begins with something good.
  Scored best{{}, run, step};
  if (!first.empty()) best = first.front();
  for (int round = 1; round < kMostRounds && !first.empty(); ++round) {
    first = faster(best.run, best.step * (1 - kLeastGain / 2), evaluator);
    if (!first.empty()) best = first.front();
  }
  if (seconds > 0)
    if (const auto found = searched(run, best.run, costs, seconds, share, out)) {
      const Score score = evaluator.score(found->plan, found->global_batch);
      if (score.step < best.step) best = {{}, *found, score.step};
    }
  const double known = out.one_change.empty() ? step.value : out.one_change.front().prediction.step.value;
  if (best.step.value < known * (1 - kLeastGain / 2) && best.step.value < step.value * (1 - kLeastGain))
    out.best = better(best.run, own, evaluator);
  return out;
}

}  // namespace foretrain
