// Costs remembered by shape: an open-addressing table that asks the source once an operator. One a thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "cost/cost.h"

namespace foretrain {

class MemoCost final : public CostSource {
 public:
  explicit MemoCost(std::shared_ptr<const CostSource> source);

  OperatorCost cost(const Operator& op) const override;
  const PowerModel* power() const override { return source_->power(); }
  std::size_t size() const { return used_; }

 private:
  struct Slot {
    Operator op;
    OperatorCost cost;
    bool used = false;
  };
  void grow() const;

  std::shared_ptr<const CostSource> source_;
  mutable std::vector<Slot> slots_;  // a power of two of them, at most half used
  mutable std::size_t used_ = 0;
};

}  // namespace foretrain
