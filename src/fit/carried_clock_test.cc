#include "fit/carried_clock.h"

#include <doctest/doctest.h>

#include <cmath>

#include "operators/pointwise.h"
#include "operators/product.h"

using namespace foretrain;

namespace {

// All of a product's time follows the clock.
class Clocked final : public CostSource {
 public:
  OperatorCost cost(const Operator&) const override { return {.clocked_share = 1}; }
};

Gpu card() {
  Gpu gpu;
  gpu.clock_max_mhz = 2000;
  gpu.power_cap_w = 1000;
  return gpu;
}

// Multiplying costs 2 pJ at 2000 MHz and falls with the cube of the clock; nothing else costs anything.
constexpr PowerModel kPower{.joules_per_flop = 2e-12, .exponent = 3, .reference_mhz = 2000};

Sample product(double us, double loop_s) {
  Sample sample;
  sample.op = linear({.m = 8192, .k = 8192, .n = 8192});
  sample.us = us;
  sample.loop_s = loop_s;
  return sample;
}

}  // namespace

TEST_CASE("a long loop has the clock at which its power meets the cap, a burst the highest") {
  // Joules of one run at the clock x are E x^3, its seconds are as timed: x = (cap seconds / E)^(1/3). 2.2 TJ of
  // E = 2 * 8192^3 * 2 pJ in 1 ms: (1000 * 1e-3 / 2.199)^(1/3) = 0.769.
  std::vector<Sample> samples = {product(1000, 0.1), product(1000, 0.01)};
  CHECK(carry_clocks(samples, card(), kPower, Clocked()) == 2);
  const double joules = 2 * std::pow(8192.0, 3) * 2e-12;
  const double drawn = 1000.0 * 0.769 / (1000.0 * 0.769 + 8);  // of a kernel so long
  CHECK(*samples[0].clock_mhz ==
        doctest::Approx(2000 * std::cbrt(1000 * 1e-3 / (joules * drawn))).epsilon(1e-3));
  CHECK(*samples[1].clock_mhz == 2000);
}

TEST_CASE("what draws less than the cap keeps the highest clock, what has a clock keeps it") {
  std::vector<Sample> samples = {product(5000, 0.5), product(1000, 0.1), product(1000, 0.1)};
  samples[1].clock_mhz = 1500;
  samples[2].loop_s.reset();
  CHECK(carry_clocks(samples, card(), kPower, Clocked()) == 1);
  CHECK(*samples[0].clock_mhz == doctest::Approx(2000).epsilon(1e-6));
  CHECK(*samples[1].clock_mhz == 1500);
  CHECK_FALSE(samples[2].clock_mhz);
}

TEST_CASE("only products follow the clock") {
  Sample norm;
  norm.op = Operator(OperatorKind::kRmsnorm, TokenSizes{.tokens = 8192, .width = 4096}, {});
  norm.loop_s = 1;
  CHECK_FALSE(lacks_clock(norm));
}

TEST_CASE("a larger card has the same joules, static power as its cap, and its own clock") {
  Gpu from = card();
  from.power_cap_w = 700;
  const PowerModel carried = carried_power(
      {.static_w = 100, .joules_per_flop = 2e-12, .exponent = 3, .reference_mhz = 1980}, from, card());
  CHECK(carried.static_w == doctest::Approx(1000.0 / 7));
  CHECK(carried.joules_per_flop == 2e-12);
  CHECK(carried.reference_mhz == 2000);
}
