#include "fit/least_squares.h"

#include <doctest/doctest.h>

#include <vector>

using namespace foretrain;

TEST_CASE("An exact non-negative combination is found") {
  const std::vector<double> a = {1, 0, 2, 1, 1, 0, 0, 3, 1, 2, 2, 2};
  const std::vector<double> wanted = {0.5, 2, 0.25};
  std::vector<double> y;
  for (std::size_t r = 0; r < 4; ++r)
    y.push_back(a[3 * r] * wanted[0] + a[3 * r + 1] * wanted[1] + a[3 * r + 2] * wanted[2]);
  const std::vector<double> c = non_negative_least_squares(a, 3, y);
  for (std::size_t i = 0; i < 3; ++i) CHECK(c[i] == doctest::Approx(wanted[i]));
}

TEST_CASE("A term that would have to be negative is left out and the others are fitted without it") {
  // y = 3 - x at x = 1, 2, 3 over terms (1, x): unconstrained (3, -1); with c >= 0 the mean, 1.
  const std::vector<double> c =
      non_negative_least_squares(std::vector<double>{1, 1, 1, 2, 1, 3}, 2, std::vector<double>{2, 1, 0});
  CHECK(c[0] == doctest::Approx(1));
  CHECK(c[1] == 0);
}

TEST_CASE("Dependent terms give one of the equal answers, not a crash") {
  const std::vector<double> c =
      non_negative_least_squares(std::vector<double>{1, 2, 2, 4, 3, 6}, 2, std::vector<double>{1, 2, 3});
  CHECK(c[0] + 2 * c[1] == doctest::Approx(1));
}
