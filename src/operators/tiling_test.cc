#include "operators/tiling.h"

#include <doctest/doctest.h>

#include <initializer_list>

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

TEST_CASE("rows that are scattered about their mean take half a tile more than they fill") {
  CHECK(tiles_along(2048, 0, 128) == 16);
  CHECK(tiles_along(2049, 0, 128) == 17);
  // 16384 rows over 8 experts: 2048 each, +- sqrt(2048 * 7 / 8).
  CHECK(routed_deviation(16384, 8) == doctest::Approx(42.33).epsilon(1e-3));
  CHECK(routed_deviation(16384, 1) == 0);
  // At a whole number of tiles half of the experts have one more, whatever the scatter.
  for (const double deviation : {1.0, 5.0, 20.0, 42.33, 63.0, 65.0})
    CHECK(tiles_along(2048, deviation, 128) == doctest::Approx(16.5).epsilon(0.001));
  // Half a tile off, a narrow scatter stays inside one tile: 15.5 tiles take 16.
  for (const double deviation : {1.0, 5.0, 20.0, 42.33, 63.0, 65.0})
    CHECK(tiles_along(1984, deviation, 128) == doctest::Approx(16).epsilon(0.001));
  // A quarter of a tile above two, three where the scatter is narrow, 2.75 where it is wide; between,
  // between.
  CHECK(tiles_along(288, 1, 128) == doctest::Approx(3));
  CHECK(tiles_along(288, 100, 128) == doctest::Approx(2.75).epsilon(0.01));
  CHECK((tiles_along(288, 40, 128) < 2.9 && tiles_along(288, 40, 128) > 2.75));
  // Where there are fewer rows than experts some get none: of 0.1 rows each, about one in eleven has a tile.
  CHECK(tiles_along(0.1, routed_deviation(1, 10), 128) == doctest::Approx(0.0952).epsilon(0.01));
}

TEST_CASE("uneven products of a batch multiply more than even ones, and no less than there is to do") {
  for (double rows = 16; rows < 20000; rows = rows * 1.7 + 3)
    for (const double experts : {2.0, 8.0, 64.0}) {
      const double work = 2 * experts * rows * 1024 * 4096,
                   deviation = routed_deviation(rows * experts, experts);
      REQUIRE(tiled_work(experts, rows, 1024, 4096, 132, deviation).value > work);
      REQUIRE(finely_tiled_work(experts, rows, 1024, 4096, 132, deviation).value > work);
    }
  // 16 tiles of rows by 16 of columns are two waves of eight experts on 1024 SMs; 16.5 are not.
  CHECK(tiled_work(8, 2048, 1024, 4096, 1024, 42.33).value > tiled_work(8, 2048, 1024, 4096, 1024).value);
}
