// What an operator's cost takes: a fitted linear of a shape not seen before, and one remembered.
#include <benchmark/benchmark.h>

#include "cost/memo.h"
#include "cost/profile_store.h"
#include "operators/product.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

Operator shape(std::int64_t i) {
  return linear({.m = 1024 + i % 9973, .k = 512 + 8 * (i % 1009), .n = 768 + 8 * (i % 2003)},
                {.dtype = Dtype::kFp16});
}

std::shared_ptr<const CostSource> costs() {
  Cluster cluster;
  cluster.gpu = Catalog().gpu("a100-80gb-sxm").value();
  cluster.host_launch = microseconds(6);
  return ProfileStore().costs_for(cluster, "a100-80gb-sxm")->costs;
}

void linear_of_new_shape(benchmark::State& state) {
  const auto source = costs();
  std::int64_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(source->cost(shape(++i)));
}
BENCHMARK(linear_of_new_shape);

void linear_remembered(benchmark::State& state) {
  const MemoCost memo(costs());
  for (std::int64_t i = 0; i < 1000; ++i) memo.cost(shape(i));
  std::int64_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(memo.cost(shape(++i % 1000)));
}
BENCHMARK(linear_remembered);

}  // namespace
}  // namespace foretrain
