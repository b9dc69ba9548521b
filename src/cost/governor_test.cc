#include "cost/governor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <utility>

using namespace foretrain;

namespace {

constexpr PowerModel kCube = {
    .static_w = 0, .joules_per_byte = 0, .joules_per_flop = 0, .exponent = 3, .reference_mhz = 1980};

PowerLoad product(double watts) { return {.clocked = Seconds(1), .clocked_joules = watts}; }

double watts_at(const PowerLoad& load, const PowerModel& power, double x) {
  const double busy = load.fixed.value + load.clocked.value / x;
  const double more = load.clocked.value / x - load.clocked.value;
  return (load.fixed_joules + load.clocked_joules * std::pow(x, power.exponent) +
          power.static_w * (load.idle.value + more)) /
         (busy + load.idle.value);
}

}  // namespace

TEST_CASE("a product that draws twice the cap settles where energy and pace together halve") {
  // 1400 x^3 joules in 1/x seconds are 700 W at x^4 = 1/2.
  CHECK(settled_clock(product(1400), kCube, 700) == doctest::Approx(std::pow(0.5, 0.25)).epsilon(1e-5));
  CHECK(settled_clock(product(700), kCube, 700) == 1);
  CHECK(settled_clock(product(699), kCube, 700) == 1);
  PowerLoad half = product(1400);
  half.idle = Seconds(1);
  CHECK(settled_clock(half, kCube, 700) == 1);  // 1400 W half of the time
}

TEST_CASE("the clock settles at the cap: lower caps, more work and less waiting never raise it") {
  const PowerModel power{.static_w = 100, .exponent = 2.5, .reference_mhz = 1980};
  double last_cap = 0;
  for (const double cap : {300.0, 400.0, 500.0, 600.0, 700.0}) {
    PowerLoad load{.fixed = Seconds(0.3),
                   .clocked = Seconds(0.7),
                   .idle = Seconds(0.05),
                   .fixed_joules = 200,
                   .clocked_joules = 900};
    const double x = settled_clock(load, power, cap);
    CHECK(x > last_cap);
    CHECK(watts_at(load, power, x) == doctest::Approx(cap).epsilon(1e-4));
    last_cap = x;
    double last = x;
    for (const double idle : {0.1, 0.2, 0.4, 0.8}) {
      load.idle = Seconds(idle);
      const double rested = settled_clock(load, power, cap);
      CHECK(rested >= last);
      last = rested;
    }
  }
}

TEST_CASE("a clock stays between the least and the highest, whatever the load") {
  CHECK(settled_clock(product(1e9), kCube, 700) == doctest::Approx(kLeastClock).epsilon(1e-4));
  CHECK(settled_clock(product(1), kCube, 700, 0.9) == 0.9);
  CHECK(settled_clock(PowerLoad{}, kCube, 700) == 1);
  // Nothing follows the clock: it falls to the floor, or stays where it is.
  CHECK(settled_clock({.fixed = Seconds(1), .fixed_joules = 800}, kCube, 700) ==
        doctest::Approx(kLeastClock).epsilon(1e-4));
}

TEST_CASE("a short kernel draws less for an operation, a long one as much as any") {
  CHECK(drawn_share(microseconds(8)) == doctest::Approx(0.5));
  CHECK(drawn_share(microseconds(20)) < drawn_share(microseconds(40)));
  CHECK(drawn_share(microseconds(5000)) > 0.99);
}

TEST_CASE("a loop draws the more above the cap the shorter it is, a settled one the cap") {
  // Half of the cap was drawn before: with e^-1 of the average left of that, (1 - e^-1) watts + e^-1 350 = 700.
  CHECK(loop_cap(700, kPowerMemory) == doctest::Approx((700 - 350 * std::exp(-1)) / (1 - std::exp(-1))));
  CHECK(loop_cap(700, Seconds(0.035)) == doctest::Approx(875).epsilon(0.02));
  CHECK(loop_cap(700, Seconds(0.1)) == doctest::Approx(716).epsilon(0.001));
  CHECK(loop_cap(700, kSettledLoop) == 700);
  // No loop at all: whatever it is, the card had no time to see it.
  CHECK(settled_clock(product(1e9), kCube, loop_cap(700, Seconds(0))) == 1);
}

TEST_CASE("the slowest of several cards: expected largest of n normal deviates below the mean") {
  CHECK(slowest_card(1) == 1);
  // 0.5642, 1.4236 and 3.0370 deviations (Harter 1961, Table 1; Blom's rule is within 0.02 of them).
  for (const auto& [cards, largest] : {std::pair{2.0, 0.5642}, {8.0, 1.4236}, {512.0, 3.037}})
    CHECK(slowest_card(cards) == doctest::Approx(1 - kCardSpread * largest).epsilon(0.0005));
}
