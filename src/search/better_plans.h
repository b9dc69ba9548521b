// What somebody who runs a plan would gain by another one that trains the same: each choice changed by itself, the one that
// gains most first, and the best plan that a search finds in a given time. All of them fit, and the run's stack launches them.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "cost/cost.h"
#include "predict/evaluator.h"
#include "search/constraint.h"

namespace foretrain {

struct BetterPlan {
  Run run;  // checked
  Prediction prediction;
  double gain = 0;    // share of the run's own step that is saved
  bool tied = false;  // the two steps differ by less than their prediction can tell apart
};

struct BetterPlans {
  std::vector<BetterPlan> one_change;  // by gain, the largest first; of each choice its best value
  std::optional<BetterPlan> best;      // of all that were looked at, where it is better than any of these
  std::uint64_t candidates = 0;        // plans of the search
  bool is_interrupted = false;         // it was stopped at its time
};

// What of the machine the search may have.
struct MachineShare {
  int threads = 0;                          // 0: as many as there are
  const std::atomic<bool>* stop = nullptr;  // ends it early
};

inline constexpr double kLeastGain = 0.01;  // what gains less is not worth a restart

// `evaluator` is of the run's model, cluster, stack and so on, with costs `costs`; `own` is the run's prediction.
// A search of no seconds is left out. `most` limits the list of single changes.
BetterPlans better_plans(const Run& run, const Prediction& own, Evaluator& evaluator,
                         const std::shared_ptr<const CostSource>& costs, double seconds, std::size_t most,
                         const MachineShare& share = {});

}  // namespace foretrain
