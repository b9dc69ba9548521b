#include "base/estimate.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

TEST_CASE("the 80 % interval is symmetric in the logarithm") {
  const Estimate estimate{2.0, 0.1, Origin::kMeasured};
  CHECK(estimate.low() * estimate.high() == doctest::Approx(4.0));
  CHECK(std::log(estimate.high() / estimate.value) == doctest::Approx(0.12815515655446));
}

TEST_CASE("ten percent of a normal lies above kZ80") {
  CHECK(0.5 * std::erfc(kZ80 / std::sqrt(2.0)) == doctest::Approx(0.1).epsilon(1e-12));
}

TEST_CASE("without spread the interval is the value") {
  const Estimate estimate{3.0, 0.0, Origin::kAnalytic};
  CHECK(estimate.low() == 3.0);
  CHECK(estimate.high() == 3.0);
}

TEST_CASE("origins are ordered from best to worst and have names") {
  CHECK(Origin::kMeasured < Origin::kAnalytic);
  CHECK(name(Origin::kMeasured) == "measured");
  CHECK(name(static_cast<Origin>(kOriginCount - 1)) == "analytic");
}

}  // namespace
}  // namespace foretrain
