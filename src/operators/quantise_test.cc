#include "operators/quantise.h"

#include <doctest/doctest.h>

#include "operators/operator_text.h"
#include "operators/product.h"
#include "operators/terms.h"

using namespace foretrain;

namespace {
constexpr double kElements = 8192.0 * 4096;
Operator cast(std::int64_t copies, Dtype format, Impl impl = Impl::kFused) {
  return quantise({.tokens = 8192, .width = 4096, .copies = copies}, {.impl = impl, .dtype = format});
}
}  // namespace

TEST_CASE("a cast reads two bytes an element and writes each copy in its format") {
  CHECK(bytes(cast(1, Dtype::kFp8)).value == 3 * kElements);
  CHECK(bytes(cast(2, Dtype::kFp8)).value == 4 * kElements);
  CHECK(bytes(cast(2, Dtype::kMxfp8)).value == (2 + 2 + 2.0 / 32) * kElements);
  CHECK(bytes(cast(1, Dtype::kNvfp4)).value == (2 + 0.5 + 1.0 / 16) * kElements);
  CHECK(bytes(cast(1, Dtype::kFp8Block)).value == (3 + 4.0 / 128) * kElements);
  CHECK(made_bytes(cast(2, Dtype::kFp8)).value == 2 * kElements);
  CHECK(flops(cast(1, Dtype::kFp8)).value == 0);
}

TEST_CASE("an eager cast is a chain of four kernels, a second copy such a chain and a transposed one") {
  // To fp32 6, scaled 8, clamped 8, cast 5; transposed 2.
  CHECK(bytes(cast(1, Dtype::kFp8, Impl::kEager)).value == 27 * kElements);
  CHECK(bytes(cast(2, Dtype::kFp8, Impl::kEager)).value == (27 + 27 + 2) * kElements);
  CHECK(usual_launches(cast(1, Dtype::kFp8, Impl::kEager)) == 4);
  CHECK(usual_launches(cast(2, Dtype::kFp8, Impl::kEager)) == 9);
  CHECK(usual_launches(cast(2, Dtype::kFp8)) == 1);
}

TEST_CASE("the largest magnitude reads a tensor, a transposed copy reads and writes it") {
  CHECK(bytes(amax({.tokens = 8192, .width = 4096})).value == 2 * kElements);
  CHECK(bytes(transpose({.tokens = 8192, .width = 4096}, {.dtype = Dtype::kFp8})).value == 2 * kElements);
}

TEST_CASE("casts are forward operators of one or two copies") {
  const auto parse = [](const char* pass, const char* sizes) {
    return parse_operator("quantise", "fused", pass, "fp8", sizes);
  };
  REQUIRE(parse("fwd", "tokens=64 width=128"));
  CHECK(parse("fwd", "tokens=64 width=128")->as<QuantiseSizes>().copies == 1);
  CHECK(!parse("fwd", "tokens=64 width=128 copies=3"));
  CHECK(!parse("bwd", "tokens=64 width=128"));
  CHECK(!parse_operator("quantise", "fused", "fwd", "bf16", "tokens=64 width=128"));
}

TEST_CASE("a product of scaled operands reads them in their format and leaves in bf16") {
  const double m = 8192, k = 4096, n = 14336;
  const auto of = [](PassKind pass, Dtype dtype) {
    return linear({.m = 8192, .k = 4096, .n = 14336}, {.pass = pass, .dtype = dtype});
  };
  CHECK(bytes(of(PassKind::kForward, Dtype::kFp8)).value == m * k + k * n + 2 * m * n);
  CHECK(bytes(of(PassKind::kInput, Dtype::kFp8)).value == m * n + k * n + 2 * m * k);
  CHECK(bytes(of(PassKind::kWeight, Dtype::kFp8Row)).value == m * n + m * k + 2 * k * n);
  // Both at once: the gradient that comes in is read twice.
  CHECK(bytes(of(PassKind::kBackward, Dtype::kFp8)).value ==
        bytes(of(PassKind::kInput, Dtype::kFp8)).value + bytes(of(PassKind::kWeight, Dtype::kFp8)).value);
  CHECK(bytes(of(PassKind::kForward, Dtype::kBf16)).value == 2 * (m * k + k * n + m * n));
  CHECK(made_bytes(of(PassKind::kForward, Dtype::kFp8)).value == 2 * m * n);
  CHECK(flops(of(PassKind::kForward, Dtype::kFp8)).value == 2 * m * k * n);
}

TEST_CASE("a compiled search for the largest is cut evenly where a divisor is near") {
  Gpu h200;
  h200.hbm = gigabytes_per_second(4800);
  h200.sms = 132;
  const auto terms = [&](std::int64_t tokens, std::int64_t width) {
    return physical_terms(amax({.tokens = tokens, .width = width}, {.impl = Impl::kFused}), h200);
  };
  const auto last = [](const Terms& t, std::size_t from_end) { return t.seconds[t.count - from_end]; };
  // 2^23 * 7^2 elements: 512 a thread are 3136 even blocks of 256 threads, six waves of 528, the last nearly full.
  const double even = 2.0 * 28672 * 14336 / 4.8e12;
  CHECK(last(terms(28672, 14336), 2) == 0);
  CHECK(last(terms(28672, 14336), 1) == doctest::Approx(even * (6.0 * 528 / 3136 - 1)));
  // 2^12 * 3 * 11^2 * 107: 512 a thread are 1214 blocks of 256, which is no divisor.
  CHECK(last(terms(11616, 13696), 2) == doctest::Approx(2.0 * 11616 * 13696 / 4.8e12));
}
