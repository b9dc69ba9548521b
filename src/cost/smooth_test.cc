#include "cost/smooth.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace foretrain;

namespace {

// One bump of height 2 at (3, 5), of which only the second feature counts, twice as fast.
Smooth bump() {
  Smooth smooth;
  smooth.mean = 1;
  smooth.feature = {1};
  smooth.scale = {2};
  smooth.points.assign(kSmoothBlock, 0);
  smooth.points[0] = 10;  // 5, scaled
  smooth.weights.assign(kSmoothBlock, 0);
  smooth.weights[0] = 2;
  return smooth;
}

float at(const Smooth& smooth, float a, float b) {
  const float x[] = {a, b};
  return smooth.view().predict(x);
}

}  // namespace

TEST_CASE("a bump is highest at its point, half as high one reach away, and far away the mean is left") {
  const Smooth smooth = bump();
  CHECK(at(smooth, 3, 5) == 3);
  CHECK(at(smooth, 99, 5) == 3);  // the first feature does not count
  CHECK(at(smooth, 3, 5.5f) == doctest::Approx(2));
  CHECK(at(smooth, 3, 4.5f) == doctest::Approx(2));
  CHECK(at(smooth, 3, 1e6f) == doctest::Approx(1));
}

TEST_CASE("a view that would read outside, or is not finite, is told") {
  CHECK(well_formed(bump().view(), 2));
  CHECK(well_formed(Smooth{}.view(), 0));
  CHECK_FALSE(well_formed(bump().view(), 1));  // there is no second feature
  Smooth smooth = bump();
  smooth.points.pop_back();
  CHECK_FALSE(well_formed(smooth.view(), 2));
  smooth = bump();
  smooth.weights[3] = std::numeric_limits<float>::infinity();
  CHECK_FALSE(well_formed(smooth.view(), 2));
  smooth = bump();
  smooth.mean = std::nanf("");
  CHECK_FALSE(well_formed(smooth.view(), 2));
}
