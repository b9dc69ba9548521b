#include "predict/clock_floor.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace foretrain {
namespace {

double from(double low, double high) { return low + (high - low) * 0.001 * *rc::gen::inRange(0, 1001); }

UnitLoad any_unit() {
  UnitLoad unit;
  unit.seconds = from(0.1, 2);
  unit.clocked = unit.seconds * from(0, 1);
  unit.fixed_joules = unit.seconds * from(50, 400);
  unit.clocked_joules = unit.clocked * from(100, 1500);
  return unit;
}

TEST_CASE("no rank is busy for less than its units' parts, less what the slowest rank takes of them") {
  Gpu gpu;
  gpu.clock_max_mhz = 1900;
  const PowerModel power{90, 0, 0, 2.2, 1980, 0};
  int slowed = 0;
  CHECK(rc::check([&] {
    gpu.power_cap_w = from(200, 1200);
    const double slowest = from(0.9, 1), fill = from(0, 2);
    const std::vector<UnitLoad> kinds = {any_unit(), any_unit(), any_unit()};
    const auto ranks = static_cast<std::size_t>(*rc::gen::inRange(1, 6));
    std::vector<UnitLoad> busy(ranks);
    std::vector<double> gap(ranks), parts(ranks);
    std::vector<std::vector<int>> counts(ranks);
    UnitLoad all;
    double longest = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      for (const UnitLoad& unit : kinds) {
        const int n = *rc::gen::inRange(1, 9);
        counts[r].push_back(n);
        busy[r].add(unit, n);
        all.add(unit, n);
      }
      gap[r] =
          *rc::gen::arbitrary<bool>() ? from(0, 5) : 0;  // launches that the GPU waits for, at static power
      longest = std::max(longest, busy[r].seconds + gap[r]);
    }
    const ClockFloor floor(gpu, power, all, fill, from(0, 3), from(0, 1), slowest);
    for (std::size_t r = 0; r < ranks; ++r) {
      const UnitLoad& b = busy[r];
      const PowerLoad load{Seconds(b.seconds - b.clocked), Seconds(b.clocked),
                           Seconds(longest * (1 + fill) - b.seconds), b.fixed_joules, b.clocked_joules};
      const double highest = gpu.clock_max_mhz / power.reference_mhz;
      const double clock = settled_clock(load, power, gpu.power_cap_w, highest / slowest) * slowest;
      slowed += clock < 0.99 * highest;
      double bound = -floor.less() * longest;
      for (std::size_t k = 0; k < kinds.size(); ++k) bound += counts[r][k] * floor.part(kinds[k]);
      RC_ASSERT(bound <= (b.seconds + b.clocked * (1 / clock - 1)) * (1 + 1e-6));
    }
  }));
  WARN(slowed > 0);  // with few trials none may be
}

TEST_CASE("of equal ranks that never wait the bound is what they take") {
  Gpu gpu;
  gpu.clock_max_mhz = 1980;
  gpu.power_cap_w = 700;
  const PowerModel power{90, 0, 0, 2, 1980, 0};
  // Draws 1200 W at the reference clock.
  const UnitLoad unit{1, 1, 90, 1110};
  const ClockFloor floor(gpu, power, unit, 0, 0, 1, 1);
  const double clock =
      settled_clock({Seconds(0), Seconds(1), Seconds(0), 90, 1110}, power, gpu.power_cap_w, 1);
  CHECK(clock < 0.9);
  CHECK(floor.part(unit) - floor.less() == doctest::Approx(1 / clock).epsilon(1e-5));
}

TEST_CASE("without a power model, and where the cap holds nobody back, clocks stay as high as they go") {
  const UnitLoad unit{1, 0.5, 100, 100};
  CHECK(ClockFloor().part(unit) == 1);
  CHECK(ClockFloor().less() == 0);
  Gpu gpu;
  gpu.clock_max_mhz = 990;
  gpu.power_cap_w = 700;
  const ClockFloor cool(gpu, {90, 0, 0, 2, 1980, 0}, unit, 0, 0, 1, 1);
  CHECK(cool.less() == 0);
  CHECK(cool.part(unit) == doctest::Approx(1.5));  // its half that follows the clock takes twice as long
}

}  // namespace
}  // namespace foretrain
