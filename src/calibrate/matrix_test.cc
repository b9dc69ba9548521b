#include "calibrate/matrix.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace foretrain;

TEST_CASE("a positive definite system is solved, its determinant and inverse's diagonal known") {
  // [[4, 2], [2, 3]]: determinant 8, inverse [[3, -2], [-2, 4]] / 8.
  Matrix a(2, 2);
  a(0, 0) = 4, a(0, 1) = a(1, 0) = 2, a(1, 1) = 3;
  const auto solved = Cholesky::of(a);
  REQUIRE(solved);
  const std::vector<double> x = solved->solve({8, 8});
  CHECK(x[0] == doctest::Approx(1));
  CHECK(x[1] == doctest::Approx(2));
  CHECK(solved->log_determinant() == doctest::Approx(std::log(8)));
  const std::vector<double> diagonal = solved->inverse_diagonal();
  CHECK(diagonal[0] == doctest::Approx(0.375));
  CHECK(diagonal[1] == doctest::Approx(0.5));
}

TEST_CASE("a matrix that is not positive definite has no root") {
  Matrix a(2, 2);
  a(0, 0) = 1, a(0, 1) = a(1, 0) = 2, a(1, 1) = 1;
  CHECK(!Cholesky::of(a));
}
