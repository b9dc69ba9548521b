// The power governor: a GPU holds its average power at a cap by lowering its clock, so products, which draw
// the most, run slower the more of the time they take. What an operator takes at the clock x (a share of the
// reference clock, at most 1):
//   seconds  fixed + clocked / x
//   joules   static * seconds + bytes * joules_per_byte + drawn * flops * joules_per_flop * x^exponent, by the format of its operands
// Memory does not follow the clock of the SMs, arithmetic does; a lower clock needs a lower voltage, so an
// operation costs less energy; a short kernel draws less (drawn_share). Over a period of such work and of
// waiting the clock settles where
//   joules(x) / (seconds(x) + idle) = cap,   or at 1 where that is still below the cap.
//
// Example: a product that draws 1400 W at 1980 MHz, its energy falling with the cube of the clock, follows
// the clock in all of its time; static power is 0. Alone under 700 W it settles at x^3 * x = 1/2: 1665 MHz,
// 19 % slower. With as much time of work that draws nothing it keeps its clock.
#pragma once

#include "base/units.h"
#include "spec/dtype.h"

namespace foretrain {

// Of a chip, fitted from samples that record clock and power (fit/power_fit.h); the reference clock is the
// highest that the sampled GPU ran at.
struct PowerModel {
  double static_w = 0;
  double joules_per_byte = 0;
  double joules_per_flop = 0;
  double exponent = 0;
  double reference_mhz = 0;
  double joules_per_fp8_flop = 0;  // of operands of eight bits; 0: not known

  bool operator==(const PowerModel&) const = default;
};

// At the reference clock. Narrower operands move fewer bits through the same units: where nobody has measured it,
// those of eight cost 0.65 of what those of sixteen do, as on the H200, and those of four 0.65 of that (assumed).
constexpr double joules_per_flop(const PowerModel& power, Dtype dtype) {
  if (!is_scaled(dtype)) return power.joules_per_flop;
  constexpr double kNarrower = 0.65;
  const double eight =
      power.joules_per_fp8_flop > 0 ? power.joules_per_fp8_flop : kNarrower * power.joules_per_flop;
  return dtype == Dtype::kNvfp4 ? kNarrower * eight : eight;
}

// Work of one period at the reference clock.
struct PowerLoad {
  Seconds fixed, clocked;
  Seconds idle;               // at static power
  double fixed_joules = 0;    // with static power
  double clocked_joules = 0;  // at the reference clock
};

// No GPU was seen to go below (1098 of 1980 MHz is the least of our samples).
inline constexpr double kLeastClock = 0.3;

// How far clocks of single loops lie from what is foretold: on H200s that are not the sampled ones 3 % in the
// mean over 35 loops of products (tests/accuracy/h200_clocks_test.cc).
inline constexpr double kClockSpread = 0.035;

// Cards of one kind differ in what they draw, so that under a cap their clocks do, and a step that all of them take part
// in goes at the pace of the slowest. On five clusters of V100, MI60 and others, over nine tenths of whose cards were
// timed, times of one program under the cap spread by 8 % of the median between the whiskers of a box plot, on the average
// (Sinha et al. 2022, arXiv 2208.11035); of a normal spread these lie 5.4 deviations apart. Clocks of our H200s differ by
// 2 to 3 % between two. A card that power does not hold back runs at its highest clock, as any other.
inline constexpr double kCardSpread = 0.08 / 5.4;
// The least clock under a cap of so many cards, over their mean, as expected: 1 - kCardSpread * the largest of n normal
// deviates (Blom 1958). Example: 0.979 of eight, 0.955 of 512.
double slowest_card(double cards);

// What a loop that lasts so long may draw, in W. The card holds an average of its power that forgets what lies
// further back than some time T, and before a loop that is timed it was hardly busy: the host prepared it. With
// p drawn before, the clock of a loop of L is such that
//   (1 - e^(-L/T)) watts + e^(-L/T) p = cap,   so watts = cap + (cap - p) / (e^(L/T) - 1)
// which is the cap for long loops, and more than any work draws for very short ones. p is half of the cap
// (assumed); T is then what meets the clocks of 3,311 loops of linears, batched products and attention on H200s
// best, of which nearly all lasted 0.03 to 0.1 s (tests/accuracy/h200_short_loops_test.cc). Example: a loop of
// 35 ms may draw 876 W under a cap of 700, one of 0.1 s 716.
inline constexpr Seconds kPowerMemory = Seconds(0.032);
double loop_cap(double cap_w, Seconds loop, Seconds memory = kPowerMemory);

// As kClockSpread, of loops that were too short to settle: what ran before them is not known. Four fifths of the
// clocks of the same loops lie within.
inline constexpr double kShortLoopClockSpread = 0.05;

// The clock of a loop so long has settled: it follows a change of load within some 0.3 s, and overshoots now and
// then for as long.
inline constexpr Seconds kSettledLoop = Seconds(0.8);

// Of a long kernel's energy an operation, what one of a kernel so long at the reference clock costs. Loops of
// short products settle at higher clocks than their FLOPs and bytes explain, on every H200 that we loop them
// on (tests/accuracy/h200_clocks_test.cc): fitted without this, the governor is 9 % of the clock too low
// below 50 us. What lies behind it is not known; the form and the time are the simplest that do.
constexpr double drawn_share(Seconds kernel) {
  constexpr Seconds kHalf = microseconds(8);
  return kernel / (kernel + kHalf);
}

// x of above, between kLeastClock and `highest`.
double settled_clock(const PowerLoad& load, const PowerModel& power, double cap_w, double highest = 1.0);

}  // namespace foretrain
