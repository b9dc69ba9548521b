#include "job/expert_load.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace foretrain;

namespace {
constexpr double kNone = 1e6;
}

TEST_CASE("nothing is dropped below capacity, and what is stated of the fullest rank stands") {
  for (const std::int64_t ranks : {2, 8, 64})
    for (const std::int64_t per_rank : {1, 4, 32})
      for (const double fullest : {1.0, 1.05, 1.2, 1.3})
        CHECK(fullest_rank({ranks, per_rank, fullest}, kNone) == doctest::Approx(fullest).epsilon(1e-6));
}

TEST_CASE("balanced experts are cut at their capacity alone") {
  CHECK(fullest_rank({8, 16, 1.0}, 0.5) == 0.5);
  CHECK(fullest_rank({8, 16, 1.0}, 2) == 1);
  CHECK(fullest_rank({1, 128, 1.0}, 1) == 1);
}

TEST_CASE("more capacity never means less work, nor more than the capacity") {
  double before = 0;
  for (double capacity = 0.25; capacity < 20; capacity *= 1.2) {
    const double rows = fullest_rank({8, 16, 1.2}, capacity);
    CHECK(rows >= before);
    CHECK(rows <= capacity);
    before = rows;
  }
}

// Loads are drawn: independent log-normal ones of mean 1, each cut, eight ranks of sixteen.
TEST_CASE("drawn loads, cut at their capacity, are as full as the formula says") {
  const double s = 0.5;
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> load(-s * s / 2, s);
  const auto drawn = [&](double capacity) {
    double sum = 0;
    constexpr int kTrials = 4000;
    for (int trial = 0; trial < kTrials; ++trial) {
      double fullest = 0;
      for (int rank = 0; rank < 8; ++rank) {
        double rows = 0;
        for (int expert = 0; expert < 16; ++expert) rows += std::min(load(random), capacity) / 16;
        fullest = std::max(fullest, rows);
      }
      sum += fullest / kTrials;
    }
    return sum;
  };
  const double fullest = drawn(kNone);
  CHECK(fullest == doctest::Approx(1.2).epsilon(0.01));
  for (const double capacity : {0.8, 1.0, 1.5, 2.0, 3.0})
    CHECK(fullest_rank({8, 16, fullest}, capacity) == doctest::Approx(drawn(capacity)).epsilon(0.01));
}
