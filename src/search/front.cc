#include "search/front.h"

#include <algorithm>

namespace foretrain {

void BestPlans::add(const ScoredPlan& plan) {
  const auto order = [this](const ScoredPlan& a, const ScoredPlan& b) { return better(objective_, a, b); };
  if (plans_.size() == most_) {
    if (most_ == 0 || !order(plan, plans_.front())) return;
    std::pop_heap(plans_.begin(), plans_.end(), order);
    plans_.back() = plan;
  } else {
    plans_.push_back(plan);
  }
  std::push_heap(plans_.begin(), plans_.end(), order);
  worst_key_ = key_of(objective_, plans_.front());
}

const ScoredPlan* BestPlans::first() const {
  const auto best = std::min_element(plans_.begin(), plans_.end(), [this](const auto& a, const auto& b) {
    return better(objective_, a, b);
  });
  return best == plans_.end() ? nullptr : &*best;
}

std::vector<ScoredPlan> BestPlans::sorted() const {
  std::vector<ScoredPlan> out = plans_;
  std::sort(out.begin(), out.end(),
            [this](const ScoredPlan& a, const ScoredPlan& b) { return better(objective_, a, b); });
  return out;
}

namespace {

bool shorter(const ScoredPlan& plan, double step) { return plan.step < step; }

}  // namespace

// At least as good in all, and not the same figures with a higher number.
bool ParetoFront::dominates(const ScoredPlan& a, const ScoredPlan& b) const {
  const double a_peak = peak_of(a), b_peak = peak_of(b);
  if (a.gpus > b.gpus || a.step > b.step || a_peak > b_peak) return false;
  return a.gpus < b.gpus || a.step < b.step || a_peak < b_peak || a.index < b.index;
}

bool ParetoFront::wants(std::int64_t gpus, double step, double peak) const {
  if (kind_ == FrontKind::kNone) return false;
  for (const auto& [count, front] : by_gpus_) {
    if (count > gpus) break;
    // Of those that are shorter, the last has the least memory.
    const auto end = std::lower_bound(front.begin(), front.end(), step, shorter);
    if (end != front.begin() && peak_of(*std::prev(end)) <= peak) return false;
  }
  return true;
}

void ParetoFront::add(const ScoredPlan& plan) {
  if (kind_ == FrontKind::kNone) return;
  for (const auto& [count, front] : by_gpus_) {
    if (count > plan.gpus) break;
    auto at = std::lower_bound(front.begin(), front.end(), plan.step, shorter);
    if (at != front.end() && at->step == plan.step && dominates(*at, plan)) return;
    if (at != front.begin() && dominates(*std::prev(at), plan)) return;
  }
  for (auto& [count, front] : by_gpus_) {
    if (count < plan.gpus) continue;
    const auto first = std::lower_bound(front.begin(), front.end(), plan.step, shorter);
    const auto last =
        std::find_if(first, front.end(), [&](const ScoredPlan& other) { return !dominates(plan, other); });
    front.erase(first, last);
  }
  auto& front = by_gpus_[plan.gpus];
  front.insert(std::lower_bound(front.begin(), front.end(), plan.step, shorter), plan);
}

std::vector<ScoredPlan> ParetoFront::sorted() const {
  std::vector<ScoredPlan> out;
  for (const auto& [count, front] : by_gpus_) out.insert(out.end(), front.begin(), front.end());
  return out;
}

std::size_t ParetoFront::size() const {
  std::size_t size = 0;
  for (const auto& [count, front] : by_gpus_) size += front.size();
  return size;
}

}  // namespace foretrain
