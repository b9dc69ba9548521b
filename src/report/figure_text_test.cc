#include "report/figure_text.h"

#include <doctest/doctest.h>

#include <limits>

using namespace foretrain;

TEST_CASE("a change has its sign, and what rounds to zero has none") {
  CHECK(signed_text(1.25, 2) == "+1.25");
  CHECK(signed_text(-0.31, 1) == "-0.3");
  CHECK(signed_text(-0.04, 1) == "0.0");
  CHECK(signed_text(0.04, 1) == "0.0");
  CHECK(signed_text(-0.0004, 3) == "0.000");
  CHECK(signed_text(0, 1) == "0.0");
  CHECK(signed_percent_text(-0.0004) == "0.0%");
  CHECK(signed_percent_text(0.125) == "+12.5%");
  CHECK(points_text(-0.0004) == "0.0");
  CHECK(signed_percent_text(std::numeric_limits<double>::quiet_NaN()) == "-");
}
