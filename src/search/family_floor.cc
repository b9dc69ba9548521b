#include "search/family_floor.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "base/check.h"
#include "search/sieve.h"

namespace foretrain {

PartFloor FamilyFloors::part(const Candidate& candidate, const Family& family, Evaluator& evaluator) const {
  return evaluator.part(candidate.plan, space_.problem().global_batch,
                        {options_.limits.memory, family.most_layers, family.fewest_layers});
}

PlanFloor FamilyFloors::of(const Family& family, Evaluator& evaluator) const {
  const Problem& problem = space_.problem();
  const LegalValues& legal = space_.legal();
  Candidate candidate = shared_by(family, problem);
  const auto parts = legal.inner(candidate, legal.launches().traits(problem, candidate), true);
  CHECK_THAT(parts.size() == 2);
  const Dimension& layers = dimensions()[outer_count()];
  const Dimension& partition = dimensions()[outer_count() + 1];
  std::optional<PlanFloor> least;
  PlanFloor smallest{Seconds(0), Bytes(std::numeric_limits<double>::infinity()), false};
  const auto floor_at = [&](Value n) {
    layers.put(problem, candidate, n);
    const PlanFloor floor = part(candidate, family, evaluator).floor();
    smallest.peak = std::min(smallest.peak, floor.peak);
    return floor;
  };
  const auto fits = [&](const PlanFloor& floor) { return may_fit(floor, options_.limits); };
  const auto take = [&](const PlanFloor& floor) {
    if (fits(floor) && (!least || floor.step < least->step)) least = floor;
  };
  for (const Value divided : parts[1]) {
    partition.put(problem, candidate, divided);
    std::span<const Value> some = parts[0];
    if (!some.empty() && some.front() == 0) {
      take(floor_at(0));
      some = some.subspan(1);
    }
    if (some.empty() || !fits(floor_at(some.back()))) continue;
    const auto first =
        std::partition_point(some.begin(), some.end(), [&](Value n) { return !fits(floor_at(n)); });
    take(floor_at(*first));
  }
  if (!least) return smallest;
  return {least->step, smallest.peak, true};
}

double FamilyFloors::order_key(const PlanFloor& floor) const {
  if (!options_.bounds) return 0;
  return options_.objective == Objective::kMemory ? floor.peak.value : floor.step.value;
}

}  // namespace foretrain
