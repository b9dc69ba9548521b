// How sure a step is. Errors of one kind of operator go together (a product model that is 5 % low is low
// everywhere), errors of different kinds do not; and the composition itself is off by some share.
//   sigma^2 = sum over kinds (sum of seconds * spread)^2 + (composition * step)^2
// What all parts have in common comes on top, as shares of the step: times that were carried over from other hardware
// may all be off by kDerivedSpread, those from datasheets by kAnalyticSpread; and a framework of which measured steps
// are not known may do more than its description says. Such errors may lean to the slow side, as nobody publishes what is
// faster than the best that physics allows, and what a description leaves out takes time; of them kLean counts below. So
//   extra^2 = (kDerivedSpread derived + kAnalyticSpread analytic)^2 + kDescribedSpread^2
//   below^2 = sigma^2 + (kLean extra)^2,   above^2 = sigma^2 + extra^2 + slow^2
// and the 80 % interval is step exp(-1.28 below) to step exp(1.28 above).
//
// slow is kRetrySpread where not all fits that PyTorch's caching allocator would keep of a step, while what must be there may
// (kMayRun): refused by CUDA, it gives back every free segment and asks again (c10/cuda/CUDACachingAllocator), in every step,
// and both wait for the GPU. Five published runs come out there; relative to the prediction they took 1.1 to 2.9 times as
// long as the median run of their source, while 45 runs at 0.9 to 1.0 of the memory took no longer (docs/memory.md).
//
// Stated spreads of operators and links count half (kPartsScale): more of their errors is common than was thought when
// they were stated.
//
// The figures are those near which tests/accuracy (intervals_test) finds the least sum, over the sources with ten rows or
// more, of the distance of coverage from 80 % and a fifth of the interval score (Gneiting and Raftery 2007, JASA 102:359,
// equation 43) of log(truth / step); the test prints what would be chosen without each source, and what that then covers
// of it. Stated are the composition of one GPU; what is added for a stack that nobody described (such frameworks are slower
// by 10 to 15 % in the mean); and the host's spread: the same calls take 21 % longer or shorter in the mean on another
// machine.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "base/units.h"
#include "job/choices.h"
#include "predict/prediction.h"

namespace foretrain {

struct Simulated;

inline constexpr double kPassComposition = 0.03;  // of a step on one GPU: passes in a row
inline constexpr double kComposition = 0.045;     // of several, which wait for each other
inline constexpr double kLaunchSpread = 0.25;     // of what the host takes, whose speed differs by machine
inline constexpr double kDerivedSpread = 0.04;
inline constexpr double kAnalyticSpread = 0.23;
inline constexpr std::array<double, 3> kDescribedSpread = {0, 0.01, 0.15};  // by Described
inline constexpr double kLean = 1;
inline constexpr double kPartsScale = 0.5;
// Of experts' products and exchanges, where routing is a guess: it may as well be even.
inline constexpr double kRoutingSpread = (kUsualImbalance - 1) / kUsualImbalance;
inline constexpr double kMayRun = 0.01;           // the chance to fit below which nobody sees a step
inline constexpr double kRetrySpread = 0.7;       // root of the mean square of those five
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

// Figures of an interval that are chosen by what it covers.
struct IntervalFigures {
  double parts = kPartsScale;
  double composition = kComposition;
  double derived = kDerivedSpread;
  double analytic = kAnalyticSpread;
  std::array<double, 3> described = kDescribedSpread;
  double lean = kLean;
};

// Of the parts and the composition, without what they have in common.
inline double parts_spread(const Uncertainty& u, Seconds step, const IntervalFigures& by = {}) {
  SpreadSum sum;
  for (const Seconds kind : u.operators) sum.add(kind * by.parts);
  for (const Seconds source : {u.collectives, u.sends, u.reductions}) sum.add(source * by.parts);
  sum.add(u.launches);
  sum.add(u.routing);
  return sum.relative(step, u.one_gpu ? kPassComposition : by.composition);
}
// What all parts have in common, of the step.
inline double common_spread(const Uncertainty& u, const IntervalFigures& by = {}) {
  return std::hypot(by.derived * u.derived + by.analytic * u.analytic,
                    by.described[static_cast<std::size_t>(u.described)]);
}

// Below the step; above it spread_above() comes on top.
inline double relative_spread(const Uncertainty& u, Seconds step, const IntervalFigures& by = {}) {
  return std::hypot(parts_spread(u, step, by), by.lean * common_spread(u, by));
}
inline double spread_above(const Uncertainty& u, const IntervalFigures& by = {}) {
  return std::hypot(common_spread(u, by) * std::sqrt(1 - by.lean * by.lean), u.retries ? kRetrySpread : 0.0);
}

// By the busiest stage; of memory by all. `usable` is what a GPU has.
Uncertainty uncertainty(const Simulated& e, Bytes usable);

// The chance that what is needed stays under the limit, where log(true / predicted) is normal with mean 0: sources of
// measured memory, each weighing the same, give -0.02. How far they spread hangs on how well the stack is known, by
// Described (docs/memory.md): the second is that of the six sources whose stacks are documented, the first that of all
// sources but the one that disagrees most, the third is assumed.
inline constexpr std::array<double, 3> kMemorySpread = {0.08, 0.14, 0.20};
inline double memory_spread(Described described) {
  return kMemorySpread[static_cast<std::size_t>(described)];
}
inline double fit_probability(Bytes needed, Bytes limit, double spread) {
  if (needed <= Bytes(0)) return 1.0;
  return 0.5 * std::erfc(-std::log(limit / needed) / (spread * std::sqrt(2.0)));
}
inline double fit_probability(Bytes needed, Bytes limit, Described described) {
  return fit_probability(needed, limit, memory_spread(described));
}

// A plan is said to fit where that is rather sure: a wrong "fits" costs a job.
inline constexpr double kFitsFrom = 0.8;
// In words: "does not fit" is said where that is likelier than not, and what lies between is told with its chance.
enum class Verdict : unsigned char { kFits, kMayNotFit, kDoesNotFit };
inline constexpr std::array<std::string_view, 3> kVerdictNames = {"fits", "may_not_fit", "does_not_fit"};
inline Verdict verdict_of(double probability) {
  return probability >= kFitsFrom ? Verdict::kFits
         : probability >= 0.5     ? Verdict::kMayNotFit
                                  : Verdict::kDoesNotFit;
}
inline std::string_view verdict_name(double probability) {
  return kVerdictNames[static_cast<std::size_t>(verdict_of(probability))];
}
inline constexpr double kSureByDeviations = 0.8416212335729143;  // of which 80 % lie below
inline Bytes most_that_fits(Bytes limit, Described described) {
  return limit * std::exp(-kSureByDeviations * memory_spread(described));
}

}  // namespace foretrain
