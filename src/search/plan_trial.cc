#include "search/plan_trial.h"

#include <cmath>

#include "search/members.h"

namespace foretrain {

bool fits(const Weighed& weighed, const Problem& problem, const Limits& limits) {
  if (weighed.needed() > limits.memory) return false;
  const Bytes host = problem.cluster.host_memory;
  return host == Bytes(0) || std::isinf(limits.memory.value) || weighed.host() <= host;
}

void bound(Weighed& weighed, Objective objective, ScoredPlan& plan) {
  const StepBound bound = weighed.at_least();
  plan.step = bound.seconds().value;
  if (objective == Objective::kEnergy) plan.joules = bound.joules();
}

void time(const TimedStep& timed, ScoredPlan& plan) {
  plan.step = timed.seconds().value;
  plan.exact = timed.exact();
  plan.joules = timed.joules();
}

std::optional<ScoredPlan> plain_plan(const Space& space, const Family& family, const Limits& limits,
                                     Evaluator& evaluator) {
  Members members(space.legal(), family);
  const Candidate& candidate = members.member(0);
  ScoredPlan plan;
  plan.index = family.first;
  plan.gpus = candidate.gpus;
  Weighed weighed = evaluator.weigh(candidate.plan, space.problem().global_batch);
  plan.peak = weighed.needed().value;
  if (!fits(weighed, space.problem(), limits)) return std::nullopt;
  time(weighed.timed(true), plan);
  if (plan.step > limits.longest_step(plan.gpus).value) return std::nullopt;
  return plan;
}

}  // namespace foretrain
