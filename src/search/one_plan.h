// Searches for one plan, which answers are made of: with evaluators that serve the space's problem, so that each finds what
// those before it left behind.
#pragma once

#include <optional>
#include <span>

#include "search/answer.h"

namespace foretrain {

// The limits that a request sets for a problem.
SearchOptions options_for(const AnswerRequest& request, const Problem& problem);

// The plan of a scored one, with its prediction by an evaluator of the space's problem.
RankedPlan ranked(const Space& space, const ScoredPlan& scored, Evaluator& evaluator);

// Of one search among several: silent, alone, one plan, without a front.
SearchOptions one_plan(SearchOptions options);
std::optional<RankedPlan> best_of(const Space& space, const SearchOptions& options, Evaluators& evaluators);
std::optional<RankedPlan> smallest_of(const Space& space, SearchOptions options, Evaluators& evaluators);

// A search, by options that ask for one plan and no front, which begins with plans that are good elsewhere: where the
// shortest step is sought, none is looked at that is longer than one of these.
SearchResult search_from(const Space& space, const SearchOptions& options, Evaluators& evaluators,
                         std::span<const Candidate> known);

}  // namespace foretrain
