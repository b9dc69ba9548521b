// The power governor: a GPU holds its average power at a cap by lowering its clock, so products, which draw
// the most, run slower the more of the time they take. What an operator takes at the clock x (a share of the
// reference clock, at most 1):
//   seconds  fixed + clocked / x                (memory does not follow the clock of the SMs, arithmetic
//   does) joules   static * seconds + bytes * joules_per_byte + flops * joules_per_flop * x^exponent
// (a lower clock needs a lower voltage, so an operation costs less energy). Over a period of such work and of
// waiting the clock settles where
//   joules(x) / (seconds(x) + idle) = cap,   or at 1 where that is still below the cap.
//
// Example: a product that draws 1400 W at 1980 MHz, its energy falling with the cube of the clock, follows
// the clock in all of its time; static power is 0. Alone under 700 W it settles at x^3 * x = 1/2: 1665 MHz,
// 19 % slower. With as much time of work that draws nothing it keeps its clock.
#pragma once

#include "base/units.h"

namespace foretrain {

// Of a chip, fitted from samples that record clock and power (fit/power_fit.h); the reference clock is the
// highest that the sampled GPU ran at.
struct PowerModel {
  double static_w = 0;
  double joules_per_byte = 0;
  double joules_per_flop = 0;
  double exponent = 0;
  double reference_mhz = 0;

  bool operator==(const PowerModel&) const = default;
};

// Work of one period at the reference clock.
struct PowerLoad {
  Seconds fixed, clocked;
  Seconds idle;               // at static power
  double fixed_joules = 0;    // with static power
  double clocked_joules = 0;  // at the reference clock
};

// No GPU was seen to go below (1098 of 1980 MHz is the least of our samples).
inline constexpr double kLeastClock = 0.3;

// How far clocks of single loops scatter about what they settle at on the average: on our H200 3 to 4 %, in
// the mean over 3,119 loops of products.
inline constexpr double kClockSpread = 0.035;

// x of above, between kLeastClock and `highest`.
double settled_clock(const PowerLoad& load, const PowerModel& power, double cap_w, double highest = 1.0);

}  // namespace foretrain
