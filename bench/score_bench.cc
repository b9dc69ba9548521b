// How long a plan's score takes. Targets: warm 20 us, cold 100 us (the Evaluator is made before the clock
// starts), a warm sweep 100,000 plans a second with what search adds on top.
#include <benchmark/benchmark.h>

#include <memory>

#include "base/check.h"
#include "job/parse_run.h"
#include "job/run_check.h"
#include "predict/evaluator.h"
#include "spec/catalog.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

// GPT-3 175B on 64 GPUs of Selene as in arXiv 2104.04473: eight stages of eight ranks, 64 micro-batches.
Run gpt3() {
  RunOptions options;
  options.model = "gpt3-175b";
  options.cluster = "selene";
  options.stack = "megatron";
  options.plan = "tp=8,pp=8,recompute=full";
  options.gpus = 64;
  options.global_batch = 64;
  auto run = parse_run(nullptr, options, Catalog());
  CHECK_THAT(run.has_value());
  return *run;
}

Evaluator evaluator_of(const Run& run) { return {run.model, run.cluster, run.stack, run.seq}; }

// Two plans in turns: one with the passes of the plan before would not run them again.
void score_in_turns(benchmark::State& state, const Run& run) {
  Evaluator evaluator = evaluator_of(run);
  Plan plans[] = {run.plan, run.plan};
  plans[1].recompute = Recompute::kSelective;
  std::size_t turn = 0;
  for (auto _ : state) benchmark::DoNotOptimize(evaluator.score(plans[turn ^= 1], run.global_batch));
}

void score_warm(benchmark::State& state) { score_in_turns(state, gpt3()); }
BENCHMARK(score_warm)->Unit(benchmark::kMicrosecond);

// The same over chunks: 64 micro-batches of 4 chunks a stage, or of 2 in a V. Target 50 us.
void score_schedule(benchmark::State& state, const char* choices) {
  Run run = gpt3();
  run.plan = *parse_plan(choices, run.plan);
  CHECK_THAT(check_run(run).has_value());
  score_in_turns(state, run);
}
BENCHMARK_CAPTURE(score_schedule, interleaved, "vpp=4")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(score_schedule, zbv, "schedule=zbv")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(score_schedule, zero3, "zero=3")->Unit(benchmark::kMicrosecond);

// A batch of evaluators is made while the clock stands still, as stopping it takes longer than a score.
void score_cold(benchmark::State& state) {
  const Run run = gpt3();
  constexpr int kBatch = 64;
  std::vector<std::unique_ptr<Evaluator>> fresh;
  while (state.KeepRunningBatch(kBatch)) {
    state.PauseTiming();
    fresh.clear();
    for (int i = 0; i < kBatch; ++i)
      fresh.push_back(std::make_unique<Evaluator>(run.model, run.cluster, run.stack, run.seq));
    state.ResumeTiming();
    for (const auto& evaluator : fresh)
      benchmark::DoNotOptimize(evaluator->score(run.plan, run.global_batch));
  }
}
BENCHMARK(score_cold)->Unit(benchmark::kMicrosecond);

struct Candidate {
  Plan plan;
  std::int64_t global_batch;
};

// A thousand plans as a search meets them: 512 GPUs, batches of 512 to 2048.
std::vector<Candidate> candidates(Run run) {
  std::vector<Candidate> found;
  run.gpus = 512;
  for (const std::int64_t batch : {512, 1024, 1536, 2048})
    for (const std::int64_t tp : {1, 2, 4, 8})
      for (const std::int64_t pp : {1, 2, 4, 8, 16, 32})
        for (const std::int64_t micro_batch : {1, 2, 4, 8})
          for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull})
            for (const int zero : {0, 1})
              for (const bool sp : {false, true}) {
                run.global_batch = batch;
                run.plan = Plan{};
                run.plan.tp = tp;
                run.plan.pp = pp;
                run.plan.micro_batch = micro_batch;
                run.plan.recompute = recompute;
                run.plan.zero = zero;
                run.plan.sp = sp;
                if (check_run(run)) found.push_back({run.plan, batch});
              }
  CHECK_THAT(found.size() >= 1000);
  // Every k-th, so that all degrees stay in.
  std::vector<Candidate> thousand;
  for (std::size_t i = 0; i < 1000; ++i) thousand.push_back(found[i * found.size() / 1000]);
  return thousand;
}

void sweep_warm(benchmark::State& state) {
  const Run run = gpt3();
  const std::vector<Candidate> plans = candidates(run);
  Evaluator evaluator = evaluator_of(run);
  for (const Candidate& c : plans) benchmark::DoNotOptimize(evaluator.score(c.plan, c.global_batch));
  for (auto _ : state)
    for (const Candidate& c : plans) benchmark::DoNotOptimize(evaluator.score(c.plan, c.global_batch));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plans.size()));
}
BENCHMARK(sweep_warm)->Unit(benchmark::kMillisecond);

void sweep_cold(benchmark::State& state) {
  const Run run = gpt3();
  const std::vector<Candidate> plans = candidates(run);
  for (auto _ : state) {
    Evaluator evaluator = evaluator_of(run);
    for (const Candidate& c : plans) benchmark::DoNotOptimize(evaluator.score(c.plan, c.global_batch));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plans.size()));
}
BENCHMARK(sweep_cold)->Unit(benchmark::kMillisecond);

void predict_warm(benchmark::State& state) {
  const Run run = gpt3();
  Evaluator evaluator = evaluator_of(run);
  for (auto _ : state) benchmark::DoNotOptimize(evaluator.predict(run.plan, run.global_batch));
}
BENCHMARK(predict_warm)->Unit(benchmark::kMicrosecond);

// Ranks, vpp and micro-batches; sends that block as in the stacks of today. Targets: 1f1b 16 x 4096 200 us,
// interleaved 16 x 8 x 512 1 ms, 8 x 4 x 64 50 us.
void timeline(benchmark::State& state, ScheduleKind schedule) {
  ChunkLoad load;
  load.forward = Seconds(0.05);
  load.backward = Seconds(0.15);
  load.input = Seconds(0.08);
  load.weight = Seconds(0.07);
  load.send_forward = load.send_backward = Seconds(0.001);
  const std::int64_t chunks_of_a_rank = chunks_per_rank(schedule, state.range(1));
  // Two works in turns: a step with the passes of the one before would not run them.
  std::vector<ChunkLoad> chunks(static_cast<std::size_t>(state.range(0) * chunks_of_a_rank), load);
  double turn = 0.05;
  PipelineWork work;
  work.chunks = chunks;
  work.chunks_per_rank = chunks_of_a_rank;
  work.schedule = schedule;
  work.micro_batches = state.range(2);
  Timeline timeline;
  for (auto _ : state) {
    chunks.front().forward = Seconds(turn = 0.11 - turn);
    benchmark::DoNotOptimize(timeline.simulate(work));
  }
  const std::int64_t passes = splits_backward(schedule) ? 3 : 2;
  state.SetItemsProcessed(state.iterations() * passes * static_cast<std::int64_t>(chunks.size()) *
                          work.micro_batches_per_chunk());
}
BENCHMARK_CAPTURE(timeline, 1f1b, ScheduleKind::k1f1b)
    ->Args({8, 1, 64})
    ->Args({16, 1, 4096})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(timeline, gpipe, ScheduleKind::kGpipe)->Args({16, 1, 4096})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(timeline, interleaved, ScheduleKind::kInterleaved)
    ->Args({8, 4, 64})
    ->Args({16, 8, 512})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(timeline, zb_h1, ScheduleKind::kZbH1)->Args({16, 1, 4096})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(timeline, zb_h2, ScheduleKind::kZbH2)->Args({16, 1, 4096})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(timeline, zbv, ScheduleKind::kZbv)->Args({16, 1, 4096})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(timeline, dualpipe, ScheduleKind::kDualpipe)
    ->Args({16, 1, 4096})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(timeline, dualpipev, ScheduleKind::kDualpipev)
    ->Args({16, 1, 4096})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace foretrain
