#include "fit/xgboost.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <thread>

using namespace foretrain;

namespace {

struct Rows {
  std::size_t columns = 0;
  std::vector<float> x;
  std::vector<float> y;
};

// Features on a grid of a quarter (ties, values equal to thresholds) or continuous; a target with steps.
Rows random_rows(std::size_t count, std::size_t columns, bool grid, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-8, 8);
  Rows rows{.columns = columns};
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t c = 0; c < columns; ++c) {
      const float v = value(random);
      rows.x.push_back(grid ? std::round(v * 4) / 4 : v);
    }
    const float* x = &rows.x[row * columns];
    rows.y.push_back(3.0f + std::sin(x[0]) + std::floor(x[columns - 1]) * 0.3f + value(random) * 0.01f);
  }
  return rows;
}

Forest must_boost(const Rows& rows, const BoostOptions& options, std::span<const float> weights = {}) {
  const auto forest = boost(rows.x, rows.columns, rows.y, weights, options);
  REQUIRE_MESSAGE(forest.has_value(), forest.error().text());
  REQUIRE(well_formed(forest->view()));
  CHECK(forest->view().trees() == static_cast<std::size_t>(options.trees));
  return *forest;
}

// How many of the query's rows our layout and XGBoost disagree on, in any bit.
int disagreements(const Rows& rows, const BoostOptions& options, std::span<const float> query,
                  std::span<const float> weights = {}) {
  const Forest forest = must_boost(rows, options, weights);
  const auto expected = boost_and_predict(rows.x, rows.columns, rows.y, weights, options, query);
  REQUIRE_MESSAGE(expected.has_value(), expected.error().text());
  REQUIRE(expected->size() == query.size() / rows.columns);
  int count = 0;
  for (std::size_t row = 0; row < expected->size(); ++row) {
    const float ours = forest.view().predict(query.subspan(row * rows.columns, rows.columns));
    count += std::bit_cast<std::uint32_t>(ours) != std::bit_cast<std::uint32_t>((*expected)[row]);
  }
  return count;
}

std::string refusal(const Rows& rows, std::span<const float> weights = {}) {
  const auto forest = boost(rows.x, rows.columns, rows.y, weights, {.trees = 2});
  return forest ? "accepted" : forest.error().message;
}

}  // namespace

TEST_CASE("The flat layout predicts the bits of XGBoost") {
  struct Case {
    int trees, depth;
    std::size_t columns;
    double subsample;
  };
  for (const Case& c : {Case{1, 1, 1, 1.0}, Case{30, 1, 4, 1.0}, Case{9, 2, 3, 0.7}, Case{500, 4, 16, 1.0},
                        Case{60, 6, 16, 1.0}, Case{20, 8, 6, 0.5}, Case{5, 12, 2, 1.0}})
    for (const bool grid : {false, true})
      for (const int bins : {0, 16, 256}) {
        CAPTURE(c.trees);
        CAPTURE(c.depth);
        CAPTURE(grid);
        CAPTURE(bins);
        const Rows rows = random_rows(600, c.columns, grid, 1);
        Rows query = random_rows(3000, c.columns, grid, 2);
        query.x.insert(query.x.end(), rows.x.begin(), rows.x.end());
        const BoostOptions options{
            .trees = c.trees, .depth = c.depth, .subsample = c.subsample, .bins = bins};
        CHECK(disagreements(rows, options, query.x) == 0);
      }
}

TEST_CASE("So it does with weights, targets far from 0 and thresholds of every size") {
  Rows rows = random_rows(800, 3, false, 3);
  std::vector<float> weights;
  for (std::size_t row = 0; row < rows.y.size(); ++row) {
    weights.push_back(0.1f + static_cast<float>(row % 7));
    rows.y[row] = 1e6f + rows.y[row] * 1.23e3f;
    rows.x[row * 3] *= 1e-20f;
    rows.x[row * 3 + 1] = std::exp(5 * rows.x[row * 3 + 1]);
  }
  CHECK(disagreements(rows, {.trees = 100, .depth = 5}, rows.x, weights) == 0);
  for (float& y : rows.y) y *= -1e-12f;
  CHECK(disagreements(rows, {.trees = 100, .depth = 5, .bins = 0}, rows.x, weights) == 0);
}

TEST_CASE("Training data without anything to learn gives its mean") {
  const std::vector<float> query = {-1e30f, -1, 0, 0.5f, 1, 2, 3, 1e30f};
  SUBCASE("one row") {
    const Rows rows{.columns = 1, .x = {1}, .y = {0.3f}};
    CHECK(must_boost(rows, {.trees = 10}).view().predict(rows.x) == 0.3f);
    CHECK(disagreements(rows, {.trees = 10}, query) == 0);
  }
  SUBCASE("equal targets") {
    const Rows rows{.columns = 1, .x = {0, 1, 2, 3, 4, 5}, .y = std::vector<float>(6, -0.7f)};
    const BoostOptions options{.trees = 10, .min_child_weight = 1};
    CHECK(must_boost(rows, options).view().predict(std::span(rows.x).first(1)) == -0.7f);
    CHECK(disagreements(rows, options, query) == 0);
  }
  SUBCASE("equal rows with different targets") {
    Rows rows{.columns = 2, .x = std::vector<float>(40, 1.5f), .y = std::vector<float>(20, 1.0f)};
    std::fill(rows.y.begin(), rows.y.begin() + 10, 2.0f);
    CHECK(must_boost(rows, {.trees = 10}).view().predict(std::vector<float>{1.5f, 1.5f}) == 1.5f);
    CHECK(disagreements(rows, {.trees = 10}, query) == 0);
  }
}

TEST_CASE("A branch that ends early leads to its value whichever way one goes on") {
  // A step at 0 and nothing else: one split explains y, so trees of depth 4 end after it.
  Rows rows{.columns = 1};
  for (int i = -20; i < 20; ++i) {
    rows.x.push_back(static_cast<float>(i));
    rows.y.push_back(i < 0 ? 1.0f : 2.0f);
  }
  const BoostOptions options{.trees = 3, .depth = 4, .min_child_weight = 20};
  const Forest forest = must_boost(rows, options);
  REQUIRE(std::isfinite(forest.threshold[0]));
  for (std::size_t node = 1; node < 15; ++node)
    CHECK(forest.threshold[node] == std::numeric_limits<float>::infinity());
  const std::set<float> values(forest.leaf.begin(), forest.leaf.begin() + 16);
  CHECK(values.size() == 2);
  CHECK(disagreements(rows, options, rows.x) == 0);
}

TEST_CASE("More trees come nearer to the targets") {
  const Rows rows = random_rows(1000, 4, false, 5);
  const auto error = [&](int trees) {
    const Forest forest = must_boost(rows, {.trees = trees});
    double sum = 0;
    for (std::size_t row = 0; row < rows.y.size(); ++row)
      sum += std::abs(forest.view().predict(std::span(rows.x).subspan(row * 4, 4)) - rows.y[row]);
    return sum / static_cast<double>(rows.y.size());
  };
  // The targets spread by 1.6 around their mean, of which noise is 0.04 on average.
  CHECK(error(400) < 0.1);
  CHECK(error(400) < 0.5 * error(20));
}

TEST_CASE("A row that weighs more is fitted better") {
  const Rows rows{.columns = 1, .x = {0, 0}, .y = {1, 2}};
  const std::vector<float> weights = {1, 3};
  CHECK(must_boost(rows, {.trees = 1}, weights).view().predict(std::vector<float>{0}) == 1.75f);
}

TEST_CASE("Two trainings give the same bytes, also side by side") {
  const Rows rows = random_rows(500, 8, false, 4);
  for (const int bins : {0, 256}) {
    const BoostOptions options{.trees = 50, .subsample = 0.6, .bins = bins};
    const Forest first = must_boost(rows, options);
    CHECK(must_boost(rows, options) == first);
    BoostOptions other = options;
    other.seed = 2;
    CHECK(must_boost(rows, other) != first);

    std::vector<Forest> found(4);
    {
      std::vector<std::jthread> threads;
      for (Forest& forest : found)
        threads.emplace_back([&] { forest = boost(rows.x, rows.columns, rows.y, {}, options).value(); });
    }
    for (const Forest& forest : found) CHECK(forest == first);
  }
}

TEST_CASE("Numbers that are not finite are refused with their place") {
  const Rows good{.columns = 2, .x = {1, 2, 3, 4}, .y = {1, 2}};
  CHECK(refusal(good) == "accepted");
  Rows bad = good;
  bad.x[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(refusal(bad) == "feature 2 of row 2 is nan; expected a finite number");
  bad = good;
  bad.y[1] = std::numeric_limits<float>::infinity();
  CHECK(refusal(bad) == "target 1 of row 2 is inf; expected a finite number");
  CHECK(refusal(good, std::vector<float>{1, 0}) == "the weight of row 2 is 0; expected more than 0");
  CHECK(refusal(Rows{.columns = 2}) == "no rows to fit trees to");
}

TEST_CASE("A missing library is an error that names the package") {
  CHECK(check_xgboost().has_value());
  CHECK(check_xgboost({"libno-such-thing.so.9", "libxgboost.so.0"}).has_value());
  const auto missing = check_xgboost({"libno-such-thing.so.9", "libneither.so"});
  REQUIRE(!missing);
  CHECK(missing.error().message ==
        "fitting needs XGBoost: libno-such-thing.so.9: cannot open shared object file: No such file or "
        "directory; install the package libxgboost0");
  const auto another = check_xgboost({"libm.so.6"});
  REQUIRE(!another);
  CHECK(another.error().message ==
        "fitting needs XGBoost 1.7: the library found has no XGBGetLastError; install the package "
        "libxgboost0");
}
