#include "search/portion_search.h"

#include <algorithm>

#include "search/plan_trial.h"

namespace foretrain {

void PortionSearch::go_through(const Portion& portion) {
  for (const Item& item : portion) {
    if (found_.stopped) return;
    if (sieve_.drops(item.floor, item.family.gpus(), item.plans(), found_.counts)) {
      watch_.decided(item.plans());
      continue;
    }
    Members members(space_.legal(), item.family);
    if (item.apart || members.part_size() == item.plans())
      do_plans(item, members);
    else
      take_apart(item, members);
  }
}

// Its parts, each with a floor of its own, are for a later round: others may come before them.
void PortionSearch::take_apart(const Item& item, Members& members) {
  const std::uint64_t size = members.part_size();
  for (std::uint64_t n = item.begin; n < item.end; n += size) {
    const PlanFloor floor = floors_.part(members.member(n), item.family, evaluator_).floor();
    if (sieve_.drops(floor, item.family.gpus(), size, found_.counts))
      watch_.decided(size);
    else
      found_.items.push_back({floors_.order_key(floor), item.family, n, n + size, true, floor});
  }
}

void PortionSearch::do_plans(const Item& item, Members& members) {
  std::optional<PartFloor> part;
  if (options_.bounds) part = floors_.part(members.member(item.begin), item.family, evaluator_);
  for (std::uint64_t n = item.begin; n < item.end; ++n) {
    if (watch_.asked_to_stop()) {
      found_.stopped = true;
      return;
    }
    const std::uint64_t alike = members.same_split(n);
    if (part && alike == members.flags() && drops_split(part->split(members.split(n)), item, alike)) {
      n += alike - 1;
      continue;
    }
    if (do_plan(members.member(n), item.family.first + n)) continue;
    // What overlaps changes no byte: nor do the plans with the same split fit.
    found_.counts.pruned_memory += alike - 1;
    n += alike - 1;
  }
  watch_.decided(item.plans());
}

// Whether none of so many plans of a part, with one split, can fit or come in. Its bytes are added up where its seconds
// do not settle it.
bool PortionSearch::drops_split(const SplitFloor& split, const Item& item, std::uint64_t plans) {
  PlanFloor floor = item.floor;
  floor.step = std::max(floor.step, split.step());
  if (sieve_.is_beaten(floor, item.family.gpus())) {
    found_.counts.pruned_bound += plans;
    return true;
  }
  floor.peak = std::max(floor.peak, split.peak(options_.limits.memory));
  return sieve_.drops(floor, item.family.gpus(), plans, found_.counts);
}

// Whether it fits.
bool PortionSearch::do_plan(const Candidate& candidate, std::uint64_t index) {
  SearchCounts& counts = found_.counts;
  ScoredPlan plan;
  plan.index = index;
  plan.gpus = candidate.gpus;
  Weighed weighed = evaluator_.weigh(candidate.plan, space_.problem().global_batch);
  plan.peak = weighed.needed().value;
  if (!fits(weighed, space_.problem(), options_.limits)) {
    ++counts.pruned_memory;
    return false;
  }
  if (options_.bounds) {
    bound(weighed, options_.objective, plan);
    if (!sieve_.wants(plan)) {
      ++counts.pruned_bound;
      return true;
    }
  }
  time(weighed.timed(), plan);
  if (!plan.exact && sieve_.wants(plan)) time(weighed.timed(true), plan);
  ++counts.evaluated;
  counts.simulated += plan.exact;
  if (options_.evaluated) found_.evaluated.push_back(plan);
  if (plan.exact && sieve_.wants(plan)) {
    sieve_.add(plan);
    found_.kept.push_back(plan);
  }
  return true;
}

}  // namespace foretrain
