#include "predict/clock_floor.h"

#include <algorithm>
#include <cmath>

namespace foretrain {

ClockFloor::ClockFloor(const Gpu& gpu, const PowerModel& power, const UnitLoad& all, double fill, double idle,
                       double waited, double slowest)
    : power_(&power),
      cap_(gpu.power_cap_w),
      highest_(std::min(gpu.clock_max_mhz / power.reference_mhz, 1.0) / slowest),
      g_(1 / slowest) {
  const double above = cap_ - power.static_w;
  if (above <= power.static_w || all.clocked <= 0 || all.clocked_joules <= 0) return;
  const PowerLoad load{Seconds(all.seconds - all.clocked), Seconds(all.clocked), Seconds(idle * all.seconds),
                       all.fixed_joules, all.clocked_joules};
  const double x = settled_clock(load, power, cap_, highest_);
  if (x >= highest_) return;
  const double drawn = power.exponent * all.clocked_joules * std::pow(x, power.exponent + 1);
  t_ = std::min(g_ / (1 + drawn / (all.clocked * above)), waited * above / cap_);
  l_ = t_ / above;
  less_ = t_ * (1 + fill);
}

double ClockFloor::part(const UnitLoad& unit) const {
  if (power_ == nullptr) return unit.seconds;
  if (l_ == 0) return unit.seconds + unit.clocked * (g_ / highest_ - 1);
  const double k = power_->exponent;
  double x = highest_;
  if (unit.clocked_joules > 0)
    x = std::clamp(std::pow(unit.clocked * (g_ - t_) / (l_ * k * unit.clocked_joules), 1 / (k + 1)),
                   kLeastClock, highest_);
  const double least = unit.clocked * (g_ / x - 1 - t_ * (1 / x - 1)) +
                       l_ * (unit.fixed_joules + unit.clocked_joules * std::pow(x, k) - cap_ * unit.seconds);
  // No clock is below the least, however much is drawn there.
  return unit.seconds * (1 + t_) + std::min(least, unit.clocked * (g_ / kLeastClock - 1));
}

}  // namespace foretrain
