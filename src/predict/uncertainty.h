// How sure a step is. Errors of one kind of operator go together (a product model that is 5 % low is low
// everywhere), errors of different kinds do not; and the composition itself is off by some share.
//   sigma^2 = sum over kinds (sum of seconds * spread)^2 + (composition * step)^2
// Of several GPUs the value for which 80 % intervals come nearest to holding 80 % of the measured runs, over
// the sources with ten rows or more (of the playbook those above 10 % of peak), is 0.09; 0.085 stands.
// tests/accuracy (intervals_test) prints it, what would be chosen without each source, and what is then
// covered. Of one GPU the parts alone hold all measured rows: 0.03 is stated. So is the host's spread.
#pragma once

#include <cmath>

#include "base/units.h"
#include "job/choices.h"
#include "predict/prediction.h"

namespace foretrain {

struct Simulated;

inline constexpr double kPassComposition = 0.03;  // of a step on one GPU: passes in a row
inline constexpr double kComposition = 0.085;     // of several, which wait for each other
inline constexpr double kLaunchSpread = 0.25;     // of waits for the host, whose speed differs by machine
// Of experts' products and exchanges, where routing is a guess: it may as well be even.
inline constexpr double kRoutingSpread = (kUsualImbalance - 1) / kUsualImbalance;
inline constexpr double kHostMemorySpread = 0.3;  // of updates in the host's memory, whose rate is assumed

class SpreadSum {
 public:
  void add(Seconds uncertain) { square_ += uncertain.value * uncertain.value; }
  double relative(Seconds step, double composition) const {
    return step > Seconds(0) ? std::sqrt(square_ / (step.value * step.value) + composition * composition)
                             : composition;
  }

 private:
  double square_ = 0;
};

inline double relative_spread(const Uncertainty& u, Seconds step) {
  SpreadSum sum;
  for (const Seconds kind : u.operators) sum.add(kind);
  for (const Seconds source : {u.collectives, u.launches, u.routing, u.sends, u.reductions}) sum.add(source);
  return sum.relative(step, u.composition);
}

// By the busiest stage.
Uncertainty uncertainty(const Simulated& e);

// The chance that what is needed stays under the limit, where log(true / predicted) is normal. Both figures
// are those of three sources with measured memory, each weighing the same (docs/memory.md has them with any
// one left out). The mean is not zero: what a model of memory does not know is mostly missing, not too much.
inline constexpr double kMemoryBias = 0.05;
inline constexpr double kMemorySpread = 0.15;
inline double fit_probability(Bytes needed, Bytes limit) {
  if (needed <= Bytes(0)) return 1.0;
  return 0.5 * std::erfc(-(std::log(limit / needed) - kMemoryBias) / (kMemorySpread * std::sqrt(2.0)));
}

// A plan is said to fit where that is rather sure: a wrong "fits" costs a job.
inline constexpr double kFitsFrom = 0.8;
inline constexpr double kSureByDeviations = 0.8416212335729143;  // of which 80 % lie below
inline Bytes most_that_fits(Bytes limit) {
  return limit * std::exp(-kMemoryBias - kSureByDeviations * kMemorySpread);
}

}  // namespace foretrain
