// How sure a step is. Errors of one kind of operator go together (a product model that is 5 % low is low
// everywhere), errors of different kinds do not; and the composition itself is off by some share. The two
// shares below are stated guesses, not calibrated yet: docs/accuracy.md shows what they cover, source by
// source.
//   sigma^2 = sum over kinds (sum of seconds * spread)^2 + (kComposition * step)^2
#pragma once

#include <cmath>

#include "base/units.h"

namespace foretrain {

inline constexpr double kComposition = 0.08;
inline constexpr double kLaunchSpread = 0.25;  // of waits for the host, whose speed differs by machine

class SpreadSum {
 public:
  void add(Seconds uncertain) { square_ += uncertain.value * uncertain.value; }
  double relative(Seconds step) const {
    return step > Seconds(0) ? std::sqrt(square_ / (step.value * step.value) + kComposition * kComposition)
                             : kComposition;
  }

 private:
  double square_ = 0;
};

// The chance that a predicted peak stays under the limit, its error log-normal with this deviation (a guess).
inline constexpr double kMemorySpread = 0.10;
inline double fit_probability(Bytes peak, Bytes limit) {
  if (peak <= Bytes(0)) return 1.0;
  return 0.5 * std::erfc(-std::log(limit / peak) / (kMemorySpread * std::sqrt(2.0)));
}

}  // namespace foretrain
