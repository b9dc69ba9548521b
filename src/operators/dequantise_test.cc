#include "operators/dequantise.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("a weight of four bits is read with a scale for 64 and written in two bytes") {
  const Operator op = dequantise({.rows = 4096, .columns = 14336, .bits = 4}, {.impl = Impl::kFused});
  const double weights = 4096.0 * 14336;
  CHECK(bytes(op).value == weights / 2 + weights / 64 * 4 + 2 * weights);
  CHECK(made_bytes(op).value == 2 * weights);
  CHECK(flops(op).value == 0);
}

TEST_CASE("a weight of eight bits is read with a scale for a row") {
  const Operator op = dequantise({.rows = 4096, .columns = 1024, .bits = 8}, {.impl = Impl::kFused});
  const double weights = 4096.0 * 1024;
  CHECK(bytes(op).value == weights + 4.0 * 4096 + 2 * weights);
}

TEST_CASE("an eager chain moves a weight ten times as often as one kernel does") {
  const QuantisedSizes sizes{.rows = 4096, .columns = 4096, .bits = 4};
  const double ratio = bytes(dequantise(sizes, {.impl = Impl::kEager})) / bytes(dequantise(sizes));
  CHECK(ratio > 10);
  CHECK(ratio < 12);
}
