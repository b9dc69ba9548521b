#include "cost/forest.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

using namespace foretrain;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Small integers, so that ties between a value and a threshold are common.
Forest random_forest(std::size_t trees, std::int32_t depth, std::int32_t features) {
  std::mt19937 random(static_cast<std::uint32_t>(trees * 100) + static_cast<std::uint32_t>(depth));
  const auto below = [&](std::uint32_t end) { return static_cast<float>(random() % end); };
  Forest forest{.depth = depth, .features = features, .base_score = 0.1f};
  for (std::size_t i = 0; i < (trees << depth) - trees; ++i) {
    forest.split_feature.push_back(static_cast<std::uint8_t>(below(static_cast<std::uint32_t>(features))));
    forest.threshold.push_back(below(9) == 0 ? kInfinity : below(10));
  }
  for (std::size_t i = 0; i < trees << depth; ++i) forest.leaf.push_back(below(1000) * 0.001f - 0.5f);
  return forest;
}

// The definition, one tree after the other.
float walk(const Forest& forest, std::span<const float> x) {
  const std::size_t splits = (std::size_t{1} << forest.depth) - 1;
  float sum = forest.base_score;
  for (std::size_t tree = 0; tree < forest.view().trees(); ++tree) {
    std::size_t node = 0;
    while (node < splits) {
      const std::size_t at = tree * splits + node;
      node = x[forest.split_feature[at]] < forest.threshold[at] ? 2 * node + 1 : 2 * node + 2;
    }
    sum += forest.leaf[tree * (splits + 1) + node - splits];
  }
  return sum;
}

// One split of feature 0 at 2: leaves 10 and 20.
Forest stump() {
  return {.depth = 1,
          .features = 1,
          .base_score = 1.0f,
          .split_feature = {0},
          .threshold = {2.0f},
          .leaf = {10.0f, 20.0f}};
}

}  // namespace

TEST_CASE("A value below the threshold goes left, an equal one right") {
  const Forest forest = stump();
  CHECK(forest.view().trees() == 1);
  CHECK(forest.view().predict(std::array{std::nextafter(2.0f, 0.0f)}) == 11.0f);
  CHECK(forest.view().predict(std::array{2.0f}) == 21.0f);
  CHECK(forest.view().predict(std::array{-kInfinity}) == 11.0f);
}

TEST_CASE("A forest without trees predicts its base score; trees of depth 0 are constants") {
  CHECK(Forest{.base_score = 3.5f}.view().predict({}) == 3.5f);
  CHECK(Forest{.base_score = 3.5f, .leaf = {1.0f, 2.0f}}.view().predict({}) == 6.5f);
}

TEST_CASE("Eight trees at once give the bits of one after the other, for every remainder and depth") {
  std::mt19937 random(1);
  for (const std::int32_t depth : {0, 1, 2, 3, 4, 5, 6, 7, 9})
    for (const std::size_t trees : {1, 7, 8, 9, 16, 61}) {
      const Forest forest = random_forest(trees, depth, 5);
      REQUIRE(well_formed(forest.view()));
      for (int row = 0; row < 200; ++row) {
        std::array<float, 5> x;
        for (float& value : x) value = static_cast<float>(random() % 10);
        REQUIRE(forest.view().predict(x) == walk(forest, x));
      }
    }
}

TEST_CASE("The sum is in float and in tree order") {
  // 2^24 + 1 is no float: adding 1 twice to 2^24 changes nothing, adding 2^24 to 2 gives 2^24 + 2.
  const float big = 16777216.0f;
  CHECK(Forest{.base_score = big, .leaf = {1.0f, 1.0f}}.view().predict({}) == big);
  CHECK(Forest{.base_score = 1.0f, .leaf = {1.0f, big}}.view().predict({}) == big + 2);
}

TEST_CASE("Bytes that would send a walk astray or to no number are not well formed") {
  CHECK(well_formed(stump().view()));
  CHECK(well_formed(ForestView{}));
  const auto refused = [](auto change) {
    Forest forest = stump();
    change(forest);
    return !well_formed(forest.view());
  };
  CHECK(refused([](Forest& f) { f.depth = -1; }));
  CHECK(refused([](Forest& f) { f.depth = 2; }));
  CHECK(refused([](Forest& f) { f.depth = 40; }));
  CHECK(refused([](Forest& f) { f.depth = 0; }));
  CHECK(refused([](Forest& f) { f.features = 0; }));
  CHECK(refused([](Forest& f) { f.features = -1; }));
  CHECK(refused([](Forest& f) { f.features = kMaxForestFeatures + 1; }));
  CHECK(refused([](Forest& f) { f.split_feature[0] = 1; }));
  CHECK(refused([](Forest& f) { f.split_feature.push_back(0); }));
  CHECK(refused([](Forest& f) { f.split_feature.clear(); }));
  CHECK(refused([](Forest& f) { f.threshold.push_back(0); }));
  CHECK(refused([](Forest& f) { f.threshold[0] = kNan; }));
  CHECK(refused([](Forest& f) { f.leaf.pop_back(); }));
  CHECK(refused([](Forest& f) { f.leaf.push_back(0); }));
  CHECK(refused([](Forest& f) { f.leaf[1] = kNan; }));
  CHECK(refused([](Forest& f) { f.leaf[1] = kInfinity; }));
  CHECK(refused([](Forest& f) { f.base_score = kNan; }));
  CHECK(!refused([](Forest& f) { f.threshold[0] = kInfinity; }));
}
