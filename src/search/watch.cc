#include "search/watch.h"

#include <algorithm>

namespace foretrain {

std::function<bool()> stop_of_counting(const SearchOptions& options) {
  if (options.team != nullptr || (options.stop == nullptr && !options.until)) return nullptr;
  const auto now = std::chrono::steady_clock::now();
  const auto until = options.until ? now + (*options.until - now) / 2 : now;
  return [stop = options.stop, timed = options.until.has_value(), until] {
    return (stop != nullptr && stop->load(std::memory_order_relaxed)) ||
           (timed && std::chrono::steady_clock::now() >= until);
  };
}

bool Watch::asked_to_stop() const {
  return (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) ||
         (options_.until && std::chrono::steady_clock::now() >= *options_.until);
}

void Watch::decided(std::uint64_t plans) {
  if (!options_.progress) return;
  SearchProgress now;
  now.done = done_.fetch_add(plans) + plans;
  now.all = space_.size();
  if (best_) {
    now.best = best_->step;
    now.gap = gap();
  }
  options_.progress(now);
}

void Watch::note_best(const ScoredPlan* plan) {
  if (plan != nullptr && (!best_ || better(options_.objective, *plan, *best_))) best_ = *plan;
}

// Of energy there are no floors, and the floors of steps on several GPU counts say nothing of money.
std::optional<double> Watch::gap() const {
  const Objective objective = options_.objective;
  if (!least_ || objective == Objective::kEnergy) return std::nullopt;
  if (objective == Objective::kMoney && space_.problem().gpus.size() > 1) return std::nullopt;
  const double best = objective == Objective::kMemory ? best_->peak : best_->step;
  return std::max(0.0, 1 - *least_ / best);
}

}  // namespace foretrain
