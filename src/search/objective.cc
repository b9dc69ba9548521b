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

Seconds Limits::longest_mean(std::int64_t gpus) const {
  double training = std::numeric_limits<double>::infinity();
  if (!training_steps) return Seconds(training);
  if (deadline_s) training = *deadline_s;
  if (budget_usd && usd_per_gpu_second)
    training = std::min(training, *budget_usd / (static_cast<double>(gpus) * *usd_per_gpu_second));
  return Seconds(std::max(0.0, training - pauses_s) / *training_steps);
}

Seconds Limits::longest_step(std::int64_t gpus) const {
  const double by_mean = longest_mean(gpus) / mean_of(Seconds(1), gpus);
  return Seconds(std::min(by_mean, step_s.value_or(by_mean)));
}

}  // namespace foretrain
