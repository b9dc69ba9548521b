#include "search/sieve.h"

namespace foretrain {

bool may_fit(const PlanFloor& floor, const Limits& limits) {
  return floor.fits && floor.peak <= limits.memory;
}

double least_key(const PlanFloor& floor, std::int64_t gpus, Objective objective) {
  ScoredPlan plan;
  plan.gpus = gpus;
  plan.step = floor.step.value;
  plan.peak = floor.peak.value;
  return key_of(objective, plan);
}

bool Sieve::wants(double key, std::int64_t gpus, double step, double peak) const {
  if (step > options_.limits.longest_step(gpus).value) return false;
  return (best_.wants(key) && probed_.best.wants(key)) ||
         (kept_.front.wants(gpus, step, peak) && own_front_.wants(gpus, step, peak) &&
          probed_.front.wants(gpus, step, peak));
}

bool Sieve::wants(const ScoredPlan& plan) const {
  return wants(key_of(options_.objective, plan), plan.gpus, plan.step, plan.peak);
}

bool Sieve::is_beaten(const PlanFloor& floor, std::int64_t gpus) const {
  return !wants(least_key(floor, gpus, options_.objective), gpus, floor.step.value, floor.peak.value);
}

bool Sieve::drops(const PlanFloor& floor, std::int64_t gpus, std::uint64_t plans,
                  SearchCounts& counts) const {
  if (!options_.bounds) return false;
  if (!may_fit(floor, options_.limits)) {
    counts.pruned_memory += plans;
    return true;
  }
  if (!is_beaten(floor, gpus)) return false;
  counts.pruned_bound += plans;
  return true;
}

}  // namespace foretrain
