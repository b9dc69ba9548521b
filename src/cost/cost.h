// What an operator costs. A CostSource is the one thing that is really swapped: datasheet physics today,
// models fitted from samples where a profile has them.
#pragma once

#include "base/estimate.h"
#include "base/units.h"
#include "workload/operator.h"

namespace foretrain {

struct OperatorCost {
  Seconds gpu;                 // at the reference clock, all its kernels
  double clocked_share = 0.0;  // of gpu: what follows the SM clock (the rest waits for memory)
  double watts = 0.0;          // board power while it runs
  Seconds host;                // to issue all its kernels
  double spread = 0.0;
  Origin origin = Origin::kAnalytic;
};

class CostSource {
 public:
  virtual ~CostSource() = default;
  virtual OperatorCost cost(const Operator& op) const = 0;
};

}  // namespace foretrain
