// How long one evaluation of a forest takes. Target: 1.5 us for 500 trees of depth 4 on 16 features.
#include <benchmark/benchmark.h>

#include <random>

#include "cost/forest.h"

namespace foretrain {
namespace {

constexpr std::int32_t kFeatures = 16;

Forest random_forest(std::size_t trees, std::int32_t depth) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> value;
  const std::size_t leaves = trees << depth;
  Forest forest{.depth = depth, .features = kFeatures};
  for (std::size_t i = 0; i < leaves - trees; ++i) {
    forest.split_feature.push_back(static_cast<std::uint8_t>(random() % kFeatures));
    forest.threshold.push_back(value(random));
  }
  for (std::size_t i = 0; i < leaves; ++i) forest.leaf.push_back(value(random));
  return forest;
}

// A row never seen before each time, so that the branch predictor learns nothing.
void forest_predict(benchmark::State& state) {
  const Forest forest =
      random_forest(static_cast<std::size_t>(state.range(0)), static_cast<std::int32_t>(state.range(1)));
  const ForestView view = forest.view();
  std::mt19937 random(2);
  std::uniform_real_distribution<float> value;
  constexpr std::size_t kRows = 4096;
  std::vector<float> rows(kRows * kFeatures);
  for (float& x : rows) x = value(random);
  std::size_t row = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(view.predict(std::span(rows).subspan(row * kFeatures, kFeatures)));
    row = (row + 1) % kRows;
  }
}
BENCHMARK(forest_predict)
    ->Args({100, 4})
    ->Args({500, 4})
    ->Args({500, 2})
    ->Args({300, 6})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace foretrain
