#include "cost/tiling.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("full waves of the largest tile multiply what the product needs, and the start of the pipeline") {
  // 128 x 256 tiles: 1024 x 3200 is 8 * 12.5, so 104 tiles; on 104 SMs one wave of them.
  const double k = 4096;
  CHECK(tiled_work(1, 1024, k, 3200, 104).value == doctest::Approx(104 * 2.0 * 128 * 256 * (k + 96)));
}

TEST_CASE("no tiling multiplies less than the product does, and a finer choice of tiles wastes less") {
  double coarse = 0, fine = 0;
  for (double m = 64; m < 20000; m = m * 1.7 + 3)
    for (double k = 64; k < 20000; k = k * 2.3 + 1)
      for (double n = 64; n < 20000; n = n * 1.9 + 5) {
        const double work = 2 * m * k * n;
        REQUIRE(tiled_work(1, m, k, n, 132).value > work);
        REQUIRE(finely_tiled_work(1, m, k, n, 132).value > work);
        if (m * n < 4e5 || k < 1000) continue;  // waves and the inner loop count, not start and end
        coarse += tiled_work(1, m, k, n, 132).value / work;
        fine += finely_tiled_work(1, m, k, n, 132).value / work;
      }
  CHECK(fine < coarse * 1.2);  // it counts loading and a deeper pipeline, which the other leaves out
}
