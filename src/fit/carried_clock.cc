#include "fit/carried_clock.h"

#include <algorithm>

namespace foretrain {
namespace {

// The clock, a share of the reference clock, at which a loop of it settles.
double settled(const Sample& sample, const Gpu& gpu, const PowerModel& power, double clocked_share) {
  const double work = flops(sample.op).value * joules_per_flop(power, sample.op.dtype);
  const double memory = bytes(sample.op).value * power.joules_per_byte;
  // The governor's clock falls where a time is taken to be that of a higher clock: both meet once.
  double low = kLeastClock, high = 1;
  for (int i = 0; i < 40; ++i) {
    const double x = 0.5 * (low + high);
    OperatorCost cost;
    cost.gpu = Seconds(sample.us * 1e-6 / (1 + clocked_share * (1 / x - 1)));
    cost.clocked_share = clocked_share;
    const double drawn = drawn_share(cost.gpu / static_cast<double>(std::max(sample.op.launches, 1)));
    cost.clocked_watts = drawn * work / cost.gpu.value;
    cost.watts = power.static_w + memory / cost.gpu.value + cost.clocked_watts;
    PowerLoad load;
    add(load, cost);
    (settled_clock(load, power, gpu.power_cap_w) > x ? low : high) = x;
  }
  return 0.5 * (low + high);
}

}  // namespace

PowerModel carried_power(const PowerModel& power, const Gpu& from, const Gpu& to) {
  PowerModel carried = power;
  carried.static_w *= to.power_cap_w / from.power_cap_w;
  carried.reference_mhz = to.clock_max_mhz;
  return carried;
}

bool lacks_clock(const Sample& sample) {
  return is_product(sample.op.kind) && !sample.clock_mhz && sample.loop_s;
}

std::size_t carry_clocks(std::vector<Sample>& samples, const Gpu& gpu, const PowerModel& power,
                         const CostSource& there) {
  std::size_t carried = 0;
  for (Sample& sample : samples) {
    if (!lacks_clock(sample)) continue;
    const bool burst = *sample.loop_s < kLongestBurst.value;
    sample.clock_mhz =
        power.reference_mhz * (burst ? 1 : settled(sample, gpu, power, there.cost(sample.op).clocked_share));
    ++carried;
  }
  return carried;
}

}  // namespace foretrain
