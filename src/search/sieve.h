// What a search has kept so far, and what may still come in beside it.
#pragma once

#include <cstdint>

#include "predict/floors.h"
#include "search/engine.h"

namespace foretrain {

struct Kept {
  explicit Kept(const SearchOptions& options) : best(options.objective, options.keep), front(options.front) {}
  void add(const ScoredPlan& plan) {
    best.add(plan);
    front.add(plan);
  }

  BestPlans best;
  ParetoFront front;
};

bool may_fit(const PlanFloor& floor, const Limits& limits);
// The least that plans with this floor can be in the objective's figure; of energy nothing is known: 0.
double least_key(const PlanFloor& floor, std::int64_t gpus, Objective objective);

// For a part of a search: knows what was kept before it began, and what it finds itself.
class Sieve {
 public:
  // REQUIRES: the others outlive it, and do not change meanwhile
  Sieve(const SearchOptions& options, const Kept& kept, const Kept& probed)
      : options_(options), kept_(kept), probed_(probed), best_(kept.best), own_front_(options.front) {}

  void add(const ScoredPlan& plan) {
    best_.add(plan);
    own_front_.add(plan);
  }
  bool wants(const ScoredPlan& plan) const;
  // Whether none of so many plans can fit or come in: then they are counted.
  bool drops(const PlanFloor& floor, std::int64_t gpus, std::uint64_t plans, SearchCounts& counts) const;
  // Whether none can come in, whether or not it fits.
  bool is_beaten(const PlanFloor& floor, std::int64_t gpus) const;

 private:
  bool wants(double key, std::int64_t gpus, double step, double peak) const;

  const SearchOptions& options_;
  const Kept& kept_;
  const Kept& probed_;
  BestPlans best_;  // those kept before, and its own
  ParetoFront own_front_;
};

}  // namespace foretrain
