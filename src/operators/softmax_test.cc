#include "operators/softmax.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("a row of softmax is held by a warp, by registers, by shared memory, or not at all") {
  using Kind = SoftmaxRow::Kind;
  CHECK(softmax_row(2048, 2).kind == Kind::kWarp);
  CHECK(softmax_row(1025, 2).padded == 2048);
  CHECK(softmax_row(2049, 2).kind == Kind::kRegisters);
  CHECK(softmax_row(2049, 2).registers == 3);
  CHECK(softmax_row(6144, 2).blocks == 2);
  CHECK(softmax_row(6145, 2).blocks == 1);
  CHECK(softmax_row(1025, 2, false).kind == Kind::kShared);
  CHECK(softmax_row(9217, 2).kind == Kind::kShared);
  CHECK(softmax_row(24000, 2).kind == Kind::kShared);
  CHECK(softmax_row(24000, 4).kind == Kind::kStreamed);
  CHECK(softmax_row(32768, 2).rest == 0);
  CHECK(softmax_row(32000, 2).rest == 8);  // 7424 elements after three rounds of 8192
}
