#include "calibrate/memory_lesson.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace foretrain;

namespace {

HeldMemory held(const char* run, double ratio) { return {"a log", run, ratio * 1e10, 1e10, 0.08}; }

}  // namespace

TEST_CASE("one run is half believed: half of its variance is the cluster's") {
  const auto one = memory_lesson({held("a", 1.05)});
  REQUIRE(one);
  // The t distribution makes its own half a little less than half of a small gap.
  CHECK(one->held == doctest::Approx(std::log(1.05) / 2).epsilon(0.12));
  CHECK(one->runs == 1);
  CHECK(!memory_lesson({}));
}

TEST_CASE("a run that is measured again counts once") {
  const auto once = memory_lesson({held("a", 1.05), held("b", 1.10)});
  const auto again = memory_lesson({held("a", 1.05), held("b", 1.10), held("b", 1.10), held("b", 1.10)});
  REQUIRE((once && again));
  CHECK(once->held == doctest::Approx(again->held));
  CHECK(again->runs == 2);
}

TEST_CASE("what is left to know is never more than before, and never less than a run's own half") {
  CHECK(memory_spread_after({}, 0.08) == 0.08);
  std::vector<HeldMemory> many;
  for (int i = 0; i < 50; ++i) many.push_back(held(std::to_string(i).c_str(), 1.05));
  const auto sure = memory_lesson(many);
  CHECK(memory_spread_after(sure, 0.08) == doctest::Approx(std::sqrt(0.5) * 0.08).epsilon(0.02));
  CHECK(memory_spread_after(memory_lesson({held("a", 1.05)}), 0.08) < 0.08);
}
