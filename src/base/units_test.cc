#include "base/units.h"

#include <doctest/doctest.h>

#include <concepts>

namespace foretrain {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};

TEST_CASE("quantities of one kind add up, of two kinds do not") {
  static_assert(Addable<Seconds, Seconds>);
  static_assert(!Addable<Seconds, Bytes>);
  static_assert(!Addable<Seconds, double>);
  static_assert(!std::convertible_to<double, Seconds>);
  Seconds t(1.5);
  t += Seconds(0.5);
  t -= Seconds(1.0);
  t *= 3.0;
  CHECK(t == Seconds(3.0));
  CHECK(Seconds(1.0) + 2.0 * Seconds(1.0) - Seconds(1.0) / 2.0 == Seconds(2.5));
  CHECK(Seconds(1.0) < Seconds(2.0));
  CHECK(Seconds(6.0) / Seconds(3.0) == 2.0);
}

TEST_CASE("an amount over a rate is a time") {
  CHECK(Bytes(9e11) / gigabytes_per_second(900.0) == Seconds(1.0));
  CHECK(Flops(989e12) / teraflops(989.0) == Seconds(1.0));
}

TEST_CASE("binary prefixes for bytes, decimal ones for rates") {
  CHECK(gib(1.0) == Bytes(1024.0 * 1024.0 * 1024.0));
  CHECK(mib(1024.0) == gib(1.0));
  CHECK(microseconds(1e6) == Seconds(1.0));
}

}  // namespace
}  // namespace foretrain
