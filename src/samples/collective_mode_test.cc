#include "samples/collective_mode.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace foretrain;

namespace {

TimedSize at(double bytes, double us) { return {std::log(bytes), std::log(us)}; }

// 400 sizes over two octaves, 10 to 40 MB, at 100 bytes a microsecond.
std::vector<TimedSize> proportional() {
  std::vector<TimedSize> rows;
  for (int i = 0; i < 400; ++i) rows.push_back(at(1e7 + 75e3 * i, 1e5 + 750 * i));
  return rows;
}

}  // namespace

TEST_CASE("times in proportion to the size are one line of growth 1, all on it") {
  const auto rows = proportional();
  const Modes modes(rows);
  for (const TimedSize& row : rows) {
    REQUIRE(modes.near(row));
    CHECK(modes.near(row)->growth == 1);
    CHECK(modes.near(row)->share == doctest::Approx(1));
    CHECK(std::abs(modes.near(row)->deviation(row)) < 1e-9);
  }
  CHECK(modes.scatter() < 1e-9);
}

TEST_CASE("a latency that no size changes has growth 0") {
  std::vector<TimedSize> rows;
  for (int i = 0; i < 100; ++i) rows.push_back(at(1000 + 20 * i, 12));
  CHECK(Modes(rows).near(rows[50])->growth == 0);
}

TEST_CASE("a tight fifth wins over a scattered rest, also where it is out of sight") {
  // Four of five rows take 1.5 to 8 times as long; from row 150 to 250 all of them.
  auto rows = proportional();
  const auto sound = rows;
  for (int i = 40; i < 400; ++i)
    if (i % 5 != 0 || (i >= 150 && i < 250))
      rows[static_cast<std::size_t>(i)].time += std::log(1.5 + (i * 37 % 131) / 20.0);
  const Modes modes(rows);
  for (const TimedSize& row : sound) CHECK(std::abs(modes.near(row)->deviation(row)) < 0.03);
}

TEST_CASE("another line takes over where most rows lie on it") {
  auto rows = proportional();
  for (std::size_t i = 200; i < 400; ++i) rows[i].time += std::log(1.5);
  const Modes modes(rows);
  CHECK(std::abs(modes.near(rows[20])->deviation(rows[20])) < 0.03);
  CHECK(std::abs(modes.near(rows[380])->deviation(rows[380])) < 0.03);
}

TEST_CASE("few rows have no mode") {
  const auto all = proportional();
  const std::vector<TimedSize> rows(all.begin(), all.begin() + 15);
  const Modes modes(rows);
  CHECK(!modes.near(rows[0]));
  CHECK(modes.scatter() == 0);
}
