#include "cost/governor.h"

#include <algorithm>
#include <cmath>

namespace foretrain {

double loop_cap(double cap_w, Seconds loop, Seconds memory) {
  constexpr double kDrawnBefore = 0.5;  // of the cap
  return loop < kSettledLoop ? cap_w * (1 + (1 - kDrawnBefore) / std::expm1(loop / memory)) : cap_w;
}

double slowest_card(double cards) {
  if (cards < 2) return 1;
  // The quantile at (n - 3/8) / (n + 1/4), by Abramowitz and Stegun 26.2.23.
  const double t = std::sqrt(-2 * std::log(0.625 / (cards + 0.25)));
  const double largest =
      t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  return 1 - kCardSpread * largest;
}

double settled_clock(const PowerLoad& load, const PowerModel& power, double cap_w, double highest) {
  const double clocked = load.clocked.value, others = load.fixed.value + load.idle.value;
  const double fixed_joules =
      load.fixed_joules + power.static_w * (load.idle.value - clocked);  // clocked time's is added by x
  // Joules above what the cap allows; grows with x.
  const auto excess = [&](double x, double voltage) {
    return fixed_joules + load.clocked_joules * voltage + power.static_w * clocked / x -
           cap_w * (others + clocked / x);
  };
  if (excess(highest, std::pow(highest, power.exponent)) <= 0) return highest;
  // Newton's steps from above, kept inside a bracket that they shrink.
  double low = kLeastClock, high = highest, x = 0.5 * (kLeastClock + highest);
  for (int i = 0; i < 40 && high - low > 1e-6; ++i) {
    const double voltage = std::pow(x, power.exponent), over = excess(x, voltage);
    (over > 0 ? high : low) = x;
    const double slope =
        load.clocked_joules * power.exponent * voltage / x + (cap_w - power.static_w) * clocked / (x * x);
    const double next = slope > 0 ? x - over / slope : low;
    if (std::abs(next - x) < 1e-7) return std::clamp(next, kLeastClock, highest);
    x = next > low && next < high ? next : 0.5 * (low + high);
  }
  return x;
}

}  // namespace foretrain
