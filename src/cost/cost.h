// What an operator costs. A CostSource is the one thing that is really swapped: datasheet physics today,
// models fitted from samples where a profile has them.
#pragma once

#include "base/estimate.h"
#include "base/units.h"
#include "cost/governor.h"
#include "operators/operator.h"

namespace foretrain {

struct OperatorCost {
  Seconds gpu;                 // at the reference clock, all its kernels
  double clocked_share = 0.0;  // of gpu: what follows the SM clock (the rest waits for memory)
  double watts = 0.0;          // board power while it runs at the reference clock; 0: not known
  double clocked_watts = 0.0;  // of watts: what falls with the clock's voltage
  double energy = 1.0;         // of its FLOPs, against the chip's average
  Seconds host;                // to issue all its kernels
  double spread = 0.0;
  Origin origin = Origin::kAnalytic;
};

class CostSource {
 public:
  virtual ~CostSource() = default;
  virtual OperatorCost cost(const Operator& op) const = 0;
  // What its watts are to a governor; null where it knows none, and times stand for the clock they were
  // taken at.
  virtual const PowerModel* power() const { return nullptr; }
};

// `times` of an operator, or of anything else that takes seconds at a known power.
inline void add(PowerLoad& load, const OperatorCost& cost, double times = 1) {
  const Seconds gpu = cost.gpu * times;
  load.clocked += gpu * cost.clocked_share;
  load.fixed += gpu * (1 - cost.clocked_share);
  load.fixed_joules += gpu.value * (cost.watts - cost.clocked_watts);
  load.clocked_joules += gpu.value * cost.clocked_watts;
}

// What an operator takes at a clock (a share of the reference clock).
inline Seconds gpu_at(const OperatorCost& cost, double clock) {
  return cost.gpu * (1 + cost.clocked_share * (1 / clock - 1));
}

}  // namespace foretrain
