#include "ask/guard.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/check.h"

namespace foretrain {
namespace {

TEST_CASE("an answer and a refusal pass through") {
  CHECK(guarded([]() -> Result<int> { return 3; }).value() == 3);
  const Error error = guarded([]() -> Result<int> { return fail_field("gpus", "found 0"); }).error();
  CHECK(error.kind == ErrorKind::kInput);
  CHECK(error.field == "gpus");
}

TEST_CASE("what is thrown comes back as an error of one line that says whose fault it is") {
  const auto thrown = [](auto what, ErrorKind kind = ErrorKind::kFault) {
    const auto result = guarded([&]() -> Result<int> { throw what; });
    REQUIRE(!result);
    CHECK(result.error().kind == kind);
    return result.error().text();
  };
  CHECK(thrown(Fault("dp > 0", "evaluator.cc", 12)) ==
        "evaluator.cc:12: fault: expected dp > 0; this is a mistake in foretrain, please report it");
  CHECK(thrown(std::bad_alloc(), ErrorKind::kMachine) == "foretrain: error: out of memory");
  CHECK(thrown(std::system_error(EAGAIN, std::generic_category(), "thread"), ErrorKind::kMachine) ==
        "foretrain: error: the system gives no thread");
  CHECK(thrown(std::system_error(EPERM, std::generic_category(), "lock"))
            .starts_with("foretrain: internal error: lock"));
  CHECK(thrown(std::runtime_error("two\nlines")) == "foretrain: internal error: two\\nlines");
  CHECK(thrown(7) == "foretrain: internal error");
}

}  // namespace
}  // namespace foretrain
