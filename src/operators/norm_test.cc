#include "operators/norm.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("rows of a norm go in waves, and are read again where an SM's cache cannot hold them") {
  const auto norm = [](PassKind pass, std::int64_t rows, std::int64_t width) {
    return norm_rows(pointwise(OperatorKind::kRmsnorm, {rows, width}, {.pass = pass}), 132);
  };
  CHECK(norm(PassKind::kForward, 2112, 4096).steps == 8);
  CHECK(norm(PassKind::kForward, 2113, 4096).steps == 16);
  CHECK(norm(PassKind::kForward, 2113, 4096).read_again == 0);
  CHECK(norm(PassKind::kForward, 2113, 16384).read_again == doctest::Approx(1 - 0.6 * 256 / 512));
  // 16 rows of both tensors of the backward fill the cache at 4096 elements.
  CHECK(norm(PassKind::kBackward, 2113, 4096).read_again == doctest::Approx(kNormAllAgain));
  // 132 SMs sum 4224 columns at once.
  CHECK(norm(PassKind::kForward, 2112, 4224).sum_steps == 0);
  CHECK(norm(PassKind::kBackward, 2112, 4224).sum_steps == 9);
  CHECK(norm(PassKind::kBackward, 2112, 4225).sum_steps == 18);
}
