// What a search keeps of millions of plans: the best few by the objective, and the Pareto front of GPUs, step
// and memory: plans for which no other is at least as good in all three. Neither depends on the order in
// which plans are added, so parts found apart can be put together. Who asks for less keeps less, and a search then
// looks at less: the front of GPUs and step alone, one plan a count at most; or none.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "search/objective.h"

namespace foretrain {

class BestPlans {
 public:
  BestPlans(Objective objective, std::size_t most) : objective_(objective), most_(most) {}

  void add(const ScoredPlan& plan);
  // Whether a plan of this key, or more, could come in.
  bool wants(double key) const { return plans_.size() < most_ || key <= worst_key_; }
  const ScoredPlan* first() const;  // null: none
  std::vector<ScoredPlan> sorted() const;
  std::size_t size() const { return plans_.size(); }

 private:
  Objective objective_;
  std::size_t most_;
  double worst_key_ = 0;
  std::vector<ScoredPlan> plans_;  // a heap, the worst on top
};

enum class FrontKind : unsigned char { kNone, kSteps, kAll };

class ParetoFront {
 public:
  explicit ParetoFront(FrontKind kind = FrontKind::kAll) : kind_(kind) {}
  void add(const ScoredPlan& plan);
  // Whether a plan of at least this step and peak could come in. Equal figures are taken in.
  bool wants(std::int64_t gpus, double step, double peak) const;
  std::vector<ScoredPlan> sorted() const;  // by GPUs, then step
  std::size_t size() const;

 private:
  double peak_of(const ScoredPlan& plan) const { return kind_ == FrontKind::kSteps ? 0 : plan.peak; }
  bool dominates(const ScoredPlan& a, const ScoredPlan& b) const;

  FrontKind kind_;
  // By GPUs: steps going up, peaks going down.
  std::map<std::int64_t, std::vector<ScoredPlan>> by_gpus_;
};

}  // namespace foretrain
