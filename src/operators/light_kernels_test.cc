#include "operators/light_kernels.h"

#include <doctest/doctest.h>

#include "operators/embedding.h"
#include "operators/optimizer.h"
#include "operators/pointwise.h"

using namespace foretrain;

namespace {

Operator embedded(std::int64_t tokens, std::int64_t width) {
  return embedding({.tokens = tokens, .width = width});
}

}  // namespace

TEST_CASE("a list of tensors takes a kernel for every 320 chunks, and for as many tensors as fit one") {
  const auto zero = [](std::int64_t parameters, std::int64_t tensors) {
    return list_kernels(optimizer(OperatorKind::kZeroGrads, {parameters, tensors, {}}), 132);
  };
  const std::int64_t chunk = 65536;
  CHECK(zero(320 * chunk, 1).kernels == 1);
  CHECK(zero(321 * chunk, 1).kernels == 2);
  CHECK(zero(110 * 2048, 110).kernels == 1);
  CHECK(zero(111 * 2048, 111).kernels == 2);
  // A tensor of little more than a chunk takes two blocks.
  CHECK(zero(110 * (chunk + 64), 110).blocks == 220);
  // A block lasts as long as its chunk, or the one step of a small tensor.
  CHECK(zero(640 * chunk, 1).steps == 32);
  CHECK(zero(220 * 2048, 220).steps == 1);
}

TEST_CASE("blocks of the fused AdamW fill an SM by two, so a full kernel is a wave and a rest") {
  Operator adamw = optimizer(OperatorKind::kAdamw, {.parameters = 400 * 65536, .tensors = 1, .widths = {}},
                             {.impl = Impl::kFused, .pass = PassKind::kStep});
  const ListKernels list = list_kernels(adamw, 132);
  CHECK(list.kernels == 2);
  CHECK(list.waves == 3);  // 264, 56 and 80 blocks
  CHECK(list.seconds(1, 0) == doctest::Approx(3));
  CHECK(list.seconds(0, 4) == doctest::Approx(4));
  CHECK(list.seconds(1, 4) == doctest::Approx(4 * 264 / 400.0 + 2));
  adamw.set(StateSizes{
      .parameters = 37 * 2048, .tensors = 37, .widths = {}});  // four lists at once leave room for 36 tensors
  CHECK(list_kernels(adamw, 132).kernels == 2);
}

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
  CHECK(gather_blocks(embedded(10, 2048)) == 10);
  CHECK(gather_blocks(embedded(10, 2049)) == 20);
}
