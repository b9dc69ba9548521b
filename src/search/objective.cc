#include "search/objective.h"

#include <algorithm>
#include <tuple>

namespace foretrain {

bool better(Objective objective, const ScoredPlan& a, const ScoredPlan& b) {
  const auto order = [objective](const ScoredPlan& p) {
    return std::tuple(key_of(objective, p), p.step, p.peak, p.gpus, p.index);
  };
  return order(a) < order(b);
}

Seconds Limits::longest_step(std::int64_t gpus) const {
  double longest = std::numeric_limits<double>::infinity();
  if (!training_steps) return Seconds(longest);
  if (deadline_s) longest = *deadline_s / *training_steps;
  if (budget_usd && usd_per_gpu_second)
    longest =
        std::min(longest, *budget_usd / (*training_steps * static_cast<double>(gpus) * *usd_per_gpu_second));
  return Seconds(longest);
}

}  // namespace foretrain
