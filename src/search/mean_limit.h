// Deadlines and budgets are of the mean step. Stalls add up to theirs, so that a limit of the mean is one of the undisturbed
// step (Limits); where a cluster's passes or messages vary, a plan's mean is drawn (predict/jitter.h), one plan at a time.
#pragma once

#include <cstdint>

#include "search/one_plan.h"

namespace foretrain {

// Whether a plan keeps to deadline and budget by its own mean step.
bool keeps_time(const RankedPlan& plan, const Limits& limits);

// What a search that follows others of as many plans tells of its progress: what has been decided adds up, and so does what
// there is, so that nobody sees it begin anew.
std::function<void(const SearchProgress&)> progress_after(std::uint64_t plans,
                                                          std::function<void(const SearchProgress&)> tell);

// A search of which all that is told keeps to them. Where means are drawn, this is done of the plans that the search keeps,
// and those that miss their limit so are left out; where all do, the search is repeated for plans that are shorter by what
// the best of them varies. No plan is told to `evaluated` twice.
// REQUIRES: options.evaluators are `evaluators`
SearchResult search_by_mean(const Space& space, SearchOptions options, Evaluators& evaluators);

}  // namespace foretrain
