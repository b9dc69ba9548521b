#include "operators/padded_product.h"

#include <doctest/doctest.h>

#include "operators/product.h"

namespace foretrain {
namespace {

Operator of(Dtype dtype, PassKind pass, std::int64_t m, std::int64_t k, std::int64_t n) {
  return linear({.m = m, .k = k, .n = n}, {.impl = Impl::kAten, .pass = pass, .dtype = dtype});
}

TEST_CASE(
    "sides in fewer bits are padded to sixteens, of mxfp8 to thirty-twos; tokens where they are summed "
    "over") {
  const auto padded = [](Dtype dtype, PassKind pass) {
    const auto sizes = with_padded_sides(of(dtype, pass, 1001, 4100, 50257)).as<LinearSizes>();
    return std::array{sizes.m, sizes.k, sizes.n};
  };
  using Sides = std::array<std::int64_t, 3>;
  CHECK(padded(Dtype::kFp8, PassKind::kForward) == Sides{1001, 4112, 50272});
  CHECK(padded(Dtype::kFp8, PassKind::kWeight) == Sides{1008, 4112, 50272});
  CHECK(padded(Dtype::kMxfp8, PassKind::kForward) == Sides{1024, 4128, 50272});
  CHECK(padded(Dtype::kBf16, PassKind::kForward) == Sides{1001, 4100, 50257});
}

TEST_CASE("a copy for each of the three that has a padded side") {
  const Operator op = of(Dtype::kFp8, PassKind::kForward, 1024, 4096, 50257);
  CHECK(padding_of(op, with_padded_sides(op)).size() == 2);  // weights and what is made
  const Operator even = of(Dtype::kFp8, PassKind::kForward, 1001, 4096, 4096);
  CHECK(with_padded_sides(even) == even);
}

}  // namespace
}  // namespace foretrain
