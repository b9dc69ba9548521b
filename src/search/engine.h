// Looks at every plan of a space, and works out no more of it than it must.
//
// 1. A family's floor (Evaluator::floor) says what none of its plans is below, in seconds and bytes. Families wait in
//    a heap, the least first. One whose turn it is and that cannot fit, or cannot give anything that is kept, is dropped
//    whole; any other is taken apart by what is run again, and its parts wait with floors of their own.
// 2. Of a part whose turn it is every plan is weighed; what does not fit is out. Its bound is held against what is
//    kept: the best plans by the objective, and the Pareto front. What could not come in is out.
// 3. The rest is timed, and what comes in is timed exactly.
//
// Nothing that is kept is lost by a bound: bounds are never longer than steps, and equal figures are looked
// at. What is next is dealt in portions to threads, and portions in rounds to machines. Inside a round each portion
// knows what was kept when the round began and what it found itself, so plans, order and counts are the same
// for any number of threads and machines. A search that is stopped knows how good the best of what it left open can be.
// However early it is stopped, some plain plans from all over the space have been tried, and the best of them is told.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "search/evaluators.h"
#include "search/front.h"
#include "search/space.h"
#include "search/team.h"

namespace foretrain {

struct SearchCounts {
  std::uint64_t candidates = 0;
  std::uint64_t evaluated = 0;      // timed, exactly or by a bound within kClosedFormError
  std::uint64_t pruned_memory = 0;  // did not fit
  std::uint64_t pruned_bound = 0;   // could not have come in
  std::uint64_t simulated = 0;      // of those evaluated

  bool operator==(const SearchCounts&) const = default;
};

struct SearchProgress {
  std::uint64_t done = 0, all = 0;  // plans that are decided, and all of them
  double best = 0;                  // step of the best so far; 0: none yet
  std::optional<double> gap;  // how much better than it another plan can be, as a share of it, where known
  std::size_t point = 0, points = 1;  // of several searches, which one
};

struct SearchOptions {
  Objective objective = Objective::kTime;
  Limits limits;
  std::size_t keep = 1000;  // best plans, all timed exactly
  FrontKind front = FrontKind::kAll;
  bool bounds = true;  // off: every plan that fits is timed, as a test's brute force does
  int threads = 0;     // 0: as many as the machine has
  // Families that wait at once, of some 180 bytes, and floors that are noted of the others, of 32: those are made again
  // (backlog.h).
  std::size_t most_held = 1'000'000;
  std::size_t most_noted = 2'000'000;
  const std::atomic<bool>* stop = nullptr;
  std::optional<std::chrono::steady_clock::time_point> until;  // stops by itself
  std::function<void(const SearchProgress&)> progress;         // from any thread
  // Every plan that was timed, in the same order always.
  std::function<void(const ScoredPlan&, const Candidate&)> evaluated;
  // A piece of other work, for threads that wait for others; false: none is left. The result does not hang on it.
  std::function<bool()> beside;
  Team* team = nullptr;
  Evaluators* evaluators =
      nullptr;  // that serve the space's problem, to be used and left warm; null: own ones
};

struct SearchResult {
  SearchCounts counts;
  std::vector<ScoredPlan> best;    // the best first
  std::vector<ScoredPlan> pareto;  // by GPUs, then step
  double seconds = 0;
  bool interrupted = false;
  bool counted = true;  // false: the time was up before every plan was counted
  std::optional<double>
      open;         // interrupted: nothing that was left open is better than this, in the objective's figure
  int threads = 0;  // that took part throughout: fewer than were wanted where the system gave no more
  int threads_wanted = 0;
};

SearchResult search(const Space& space, const std::shared_ptr<const CostSource>& costs,
                    const SearchOptions& options);

}  // namespace foretrain
