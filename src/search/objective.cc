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

Seconds Limits::mean_of(Seconds step, std::int64_t gpus) const {
  const auto nodes = static_cast<double>((gpus + gpus_per_node - 1) / gpus_per_node);
  return step * (varied * (1 + nodes * stalled));
}

Seconds Limits::longest_step(std::int64_t gpus) const {
  const double any = std::numeric_limits<double>::infinity();
  const double longest = step_s.value_or(any);
  if (!training_steps) return Seconds(longest);
  double training = any;
  if (deadline_s) training = *deadline_s;
  if (budget_usd && usd_per_gpu_second)
    training = std::min(training, *budget_usd / (static_cast<double>(gpus) * *usd_per_gpu_second));
  if (training == any) return Seconds(longest);
  const double a_second = mean_of(Seconds(1), gpus).value;
  return Seconds(std::min(longest, std::max(0.0, training - pauses_s) / (*training_steps * a_second)));
}

}  // namespace foretrain
