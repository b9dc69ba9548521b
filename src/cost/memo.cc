#include "cost/memo.h"

#include <utility>

namespace foretrain {

MemoCost::MemoCost(std::shared_ptr<const CostSource> source) : source_(std::move(source)), slots_(256) {}

OperatorCost MemoCost::cost(const Operator& op) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash_of(op) & mask;
  for (; slots_[i].used; i = (i + 1) & mask)
    if (slots_[i].op == op) return slots_[i].cost;
  slots_[i] = {op, source_->cost(op), true};
  const OperatorCost cost = slots_[i].cost;
  if (++used_ * 2 > slots_.size()) grow();
  return cost;
}

void MemoCost::grow() const {
  std::vector<Slot> old(slots_.size() * 2);
  std::swap(old, slots_);
  const std::size_t mask = slots_.size() - 1;
  for (Slot& slot : old) {
    if (!slot.used) continue;
    std::size_t i = hash_of(slot.op) & mask;
    while (slots_[i].used) i = (i + 1) & mask;
    slots_[i] = std::move(slot);
  }
}

}  // namespace foretrain
