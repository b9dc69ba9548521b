#include "operators/optimizer.h"

#include <doctest/doctest.h>

using namespace foretrain;

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
