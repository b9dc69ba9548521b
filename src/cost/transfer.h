// What an operator takes, by what a sampled one does: each step away from a sample makes it less sure.
#pragma once

#include <algorithm>
#include <cmath>

#include "cost/cost.h"

namespace foretrain {

// Relative deviation that each step away from a sample adds, in squares.
inline constexpr double kSplitSpread = 0.05;     // of a part from its whole, or a whole from its parts
inline constexpr double kTransferSpread = 0.12;  // of one implementation or operator from another
// Of what rows that are no multiple of 16 bytes take longer, by the analytic rule: it scatters by 10 to 19 % over
// our H200 samples of linears, and what another part or another product makes of it is not known.
inline constexpr double kRowsSpread = 0.30;

inline OperatorCost derived(OperatorCost cost, double share, double added_spread) {
  cost.gpu *= share;
  cost.spread = std::hypot(cost.spread, added_spread);
  if (cost.origin < Origin::kDerived) cost.origin = Origin::kDerived;
  return cost;
}

// One after the other.
inline OperatorCost sum_of(OperatorCost a, const OperatorCost& b) {
  const Seconds gpu = a.gpu + b.gpu;
  a.clocked_share = (a.gpu * a.clocked_share + b.gpu * b.clocked_share) / gpu;
  a.energy = (a.energy + b.energy) / 2;  // of as many FLOPs each
  a.gpu = gpu;
  a.host += b.host;
  a.spread = std::max(a.spread, b.spread);
  a.origin = std::max(a.origin, b.origin);
  return a;
}

inline OperatorCost extrapolated(OperatorCost cost, double times) {
  cost.gpu *= times;
  cost.spread = std::hypot(cost.spread, kRowsSpread);
  cost.origin = std::max(cost.origin, Origin::kExtrapolated);
  return cost;
}

}  // namespace foretrain
