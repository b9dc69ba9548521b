#include "base/result.h"

#include <doctest/doctest.h>

namespace foretrain {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return fail("found an odd number", Position{"n.yaml", 1, n});
  return n / 2;
}

Result<int> quarter(int n) {
  TRY_ASSIGN(const int h, half(n));
  TRY_ASSIGN(const int q, half(h));
  return q;
}

Result<void> divisible_by_four(int n) {
  TRY(quarter(n));
  return {};
}

TEST_CASE("an error tells as much of its place as there is") {
  CHECK(Error{"found x", {"run.yaml", 3, 5}}.text() == "run.yaml:3:5: error: found x");
  CHECK(Error{"found x", {"run.yaml", 3, 0}}.text() == "run.yaml:3: error: found x");
  CHECK(Error{"found x", {"run.yaml", 0, 0}}.text() == "run.yaml: error: found x");
  CHECK(Error{"found x", {}}.text() == "foretrain: error: found x");
}

TEST_CASE("an error is one line, whatever the file is called and the message holds") {
  CHECK(Error{"a\nb", {"r\nun\x1b.yaml", 1, 2}}.text() == "r\\nun\\x1b.yaml:1:2: error: a\\nb");
}

TEST_CASE("TRY_ASSIGN takes the value out or hands the error on") {
  CHECK(quarter(12).value() == 3);
  REQUIRE(!quarter(6));
  CHECK(quarter(6).error().at.column == 3);  // the half of 6 is the odd one
}

TEST_CASE("TRY drops the value and hands the error on") {
  CHECK(divisible_by_four(8).has_value());
  REQUIRE(!divisible_by_four(7));
  CHECK(divisible_by_four(7).error().text() == "n.yaml:1:7: error: found an odd number");
}

}  // namespace
}  // namespace foretrain
