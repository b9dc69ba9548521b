#include "base/check.h"

#include <doctest/doctest.h>

#include <string>

namespace foretrain {
namespace {

TEST_CASE("a check that holds does nothing") { CHECK_NOTHROW(CHECK_THAT(1 + 1 == 2)); }

TEST_CASE("a check that fails throws a fault that names the condition and the place") {
  std::string said;
  try {
    CHECK_THAT(1 + 1 == 3);
  } catch (const Fault& fault) {
    said = fault.what();
  }
  CHECK(said.starts_with("check_test.cc:"));  // without the folders of whoever built it
  CHECK(said.find(": fault: expected 1 + 1 == 3; ") != std::string::npos);
}

}  // namespace
}  // namespace foretrain
