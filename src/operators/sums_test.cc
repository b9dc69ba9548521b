#include "operators/sums.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("a row is summed by a warp, a long one by sixteen") {
  CHECK(row_sum_values(8448, 4096, 132) == 128);
  CHECK(row_sum_values(8449, 4096, 132) == 256);
  CHECK(row_sum_values(528, 8192, 132) == 16);
}

TEST_CASE("a sum over tokens is split over blocks from 256 values a thread on") {
  const ColumnSum below = column_sum(1020, 4096, 132), above = column_sum(1024, 4096, 132);
  CHECK(below.values == 255);
  CHECK(below.parts == 0);
  CHECK(above.values == 16);
  CHECK(above.parts == 4);
  // 2112 blocks of 128 threads fit the GPU; 32 columns of them leave 66 for the rows.
  CHECK(column_sum(65536, 4096, 132).parts == 17);
  CHECK(column_sum(65536, 4096, 132).values == 249);
}
