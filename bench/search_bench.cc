// A search of the whole space: GPT-3 175B on 64 GPUs of Selene, batch 64, with the A100's fitted costs,
// memory and every schedule. Targets: under 60 s on two cores; 100,000 evaluated plans a second. Counters:
// candidates, the shares that were evaluated, did not fit and were bounded away, and plans a second of time
// that passed.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "base/check.h"
#include "cost/profile_store.h"
#include "search/engine.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

Space gpt3() {
  const Catalog catalog;
  Problem problem;
  problem.model = catalog.model("gpt3-175b").value();
  problem.cluster = catalog.cluster("selene").value();
  problem.stack = catalog.stack("megatron").value();
  problem.seq = 2048;
  problem.global_batch = 64;
  problem.gpus = {64};
  return Space::make(std::move(problem), {}).value();
}

void run(benchmark::State& state, const SearchOptions& options) {
  const Space space = gpt3();
  const auto costs = ProfileStore().costs_for(space.problem().cluster, "");
  CHECK_THAT(costs.has_value() && costs->profile == "a100-80gb-sxm");
  SearchResult result;
  double seconds = 0;
  for (auto _ : state) {
    result = search(space, costs->costs, options);
    seconds += result.seconds;
  }
  const SearchCounts& c = result.counts;
  const auto all = static_cast<double>(c.candidates), rounds = static_cast<double>(state.iterations());
  state.counters["candidates"] = all;
  state.counters["evaluated"] = static_cast<double>(c.evaluated) / all;
  state.counters["not_fitting"] = static_cast<double>(c.pruned_memory) / all;
  state.counters["bounded"] = static_cast<double>(c.pruned_bound) / all;
  state.counters["plans_per_s"] = all * rounds / seconds;
  state.counters["evaluated_per_s"] = static_cast<double>(c.evaluated) * rounds / seconds;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  state.counters["rss_mib"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

// As the program searches.
void search_gpt3(benchmark::State& state) {
  SearchOptions options;
  options.limits.memory = gpt3().problem().cluster.gpu.usable;
  options.threads = static_cast<int>(state.range(0));
  run(state, options);
}
BENCHMARK(search_gpt3)->Arg(1)->Arg(2)->Unit(benchmark::kSecond)->MeasureProcessCPUTime()->UseRealTime();

// Nothing left out: on GPUs with memory enough, every plan is timed.
void evaluate_gpt3(benchmark::State& state) {
  SearchOptions options;
  options.limits.memory = Bytes(1e30);
  options.bounds = false;
  options.threads = static_cast<int>(state.range(0));
  run(state, options);
}
BENCHMARK(evaluate_gpt3)->Arg(1)->Arg(2)->Unit(benchmark::kSecond)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace foretrain
