// How long a plan's memory takes, without its time: what a search asks first. Target 3 us for a pipeline of
// eight stages under 1f1b whose shapes have been seen; one that has not is built and walked.
#include <benchmark/benchmark.h>

#include "base/check.h"
#include "job/parse_run.h"
#include "job/run_check.h"
#include "predict/evaluator.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

Run gpt3(const char* plan) {
  RunOptions options;
  options.model = "gpt3-175b";
  options.cluster = "selene";
  options.stack = "megatron";
  options.plan = plan;
  options.gpus = 64;
  options.global_batch = 64;
  auto run = parse_run(nullptr, options, Catalog());
  CHECK_THAT(run.has_value());
  return *run;
}

void memory_warm(benchmark::State& state, const char* plan) {
  const Run run = gpt3(plan);
  Plan other = run.plan;
  other.micro_batch *= 2;
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq);
  bool turn = false;  // in turns: nothing is known of the plan before
  for (auto _ : state)
    benchmark::DoNotOptimize(evaluator.weigh((turn = !turn) ? run.plan : other, run.global_batch).needed());
}
BENCHMARK_CAPTURE(memory_warm, 1f1b, "tp=8,pp=8,recompute=full")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(memory_warm, zero3, "tp=8,zero=3")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(memory_warm, interleaved, "tp=8,pp=8,vpp=4")->Unit(benchmark::kMicrosecond);

// Every plan's shapes are new.
void memory_cold(benchmark::State& state) {
  const Run run = gpt3("tp=8,pp=8,recompute=full");
  for (auto _ : state) {
    state.PauseTiming();
    Evaluator evaluator(run.model, run.cluster, run.stack, run.seq);
    state.ResumeTiming();
    benchmark::DoNotOptimize(evaluator.weigh(run.plan, run.global_batch).needed());
  }
}
BENCHMARK(memory_cold)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace foretrain
