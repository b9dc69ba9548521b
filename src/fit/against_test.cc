#include "fit/against.h"

#include <doctest/doctest.h>

#include "operators/product.h"

using namespace foretrain;

namespace {

// 200 us whatever it is; of wide products nothing is known but physics.
class Known final : public CostSource {
 public:
  OperatorCost cost(const Operator& op) const override {
    OperatorCost cost;
    cost.gpu = microseconds(200);
    cost.origin = op.as<LinearSizes>().n > 1000 ? Origin::kAnalytic : Origin::kInterpolated;
    return cost;
  }
};

Sample timed(std::int64_t n, double us, const std::string& library) {
  Sample sample;
  sample.op = linear({.m = 8, .k = 8, .n = n});
  sample.us = us;
  sample.group = library;
  return sample;
}

}  // namespace

TEST_CASE("a time is the other GPU's own, by the ratio of one library's times of the shape") {
  Gpu gpu;
  gpu.clock_max_mhz = 2000;
  const std::vector<Sample> here = {timed(8, 30, "a"), timed(8, 60, "b"), timed(16, 30, "a"),
                                    timed(32, 30, "c"), timed(2000, 30, "a")};
  const std::vector<Sample> there = {timed(8, 40, "a"), timed(8, 50, "b"), timed(32, 40, "a"),
                                     timed(2000, 40, "a")};
  // The third has no partner, the fourth none of its library, the fifth no time to be carried.
  const std::vector<Sample> carried = carried_against(here, there, gpu, Known());
  REQUIRE(carried.size() == 2);
  CHECK(carried[0].us == doctest::Approx(150));
  CHECK(carried[1].us == doctest::Approx(240));
  CHECK(carried[0].clock_mhz == 2000);
}
