// One plan, as far as a search has to know it: whether it fits, what it takes at least, what it takes.
#pragma once

#include <optional>

#include "predict/evaluator.h"
#include "search/engine.h"
#include "search/family.h"

namespace foretrain {

// On the GPU, and in the host's memory where the cluster states how large it is.
bool fits(const Weighed& weighed, const Problem& problem, const Limits& limits);

// Fill in step and joules.
void bound(Weighed& weighed, Objective objective, ScoredPlan& plan);
void time(const TimedStep& timed, ScoredPlan& plan);

// The plain plan of a family, timed exactly, where it keeps to the limits.
std::optional<ScoredPlan> plain_plan(const Space& space, const Family& family, const Limits& limits,
                                     Evaluator& evaluator);

}  // namespace foretrain
