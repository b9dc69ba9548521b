// Counts allocations, to hold the promise that a warm score() makes none. Replaces operator new for the whole
// test program.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "cost/profile_store.h"
#include "predict/testing.h"

namespace {
thread_local long allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {  // std::stable_sort's
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace foretrain {
namespace {

TEST_CASE("a warm score allocates nothing") {
  for (const char* stack :
       {"generic", "hf-compile", "hf-eager", "llm-foundry", "megatron", "nanotron", "neox"}) {
    CAPTURE(stack);
    const Run small = run_of("gpt3-175b", "selene", 64, stack, "tp=8,pp=2,zero=1,recompute=full", 64);
    const Run large = run_of("gpt3-175b", "selene", 512, stack, "tp=8,pp=16", 256);
    const Run sharded = run_of("gpt3-175b", "selene", 64, stack, "tp=8,zero=3,shard=4,recompute=full", 64);
    const Run gathered = run_of("gpt3-175b", "selene", 64, stack, "tp=8,zero=2,overlap_param_gather=1", 64);
    Plan by_hand = large.plan;
    by_hand.layers_per_stage.assign(16, 6);
    std::vector<Plan> scheduled;
    for (int k = 0; k < kScheduleCount; ++k) {
      Run run = large;
      run.plan.schedule = static_cast<ScheduleKind>(k);
      if (run.plan.schedule == ScheduleKind::kInterleaved) run.plan.vpp = 3;
      CHECK(check_run(run).has_value());
      scheduled.push_back(run.plan);
      run.plan.layers_per_stage = by_hand.layers_per_stage;
      scheduled.push_back(run.plan);
    }

    Evaluator evaluator = evaluator_of(small);
    const auto score_all = [&] {
      for (const Plan& plan : scheduled) evaluator.score(plan, large.global_batch);
      evaluator.score(small.plan, small.global_batch);
      evaluator.score(large.plan, large.global_batch);
      evaluator.score(by_hand, large.global_batch);
      evaluator.score(sharded.plan, sharded.global_batch);
      evaluator.score(gathered.plan, gathered.global_batch);
    };
    const long start = allocations;
    score_all();
    score_all();  // what an order holds is tabulated when it is weighed for the second time
    const long warm = allocations;
    CHECK(warm > start);  // the counter counts
    score_all();
    CHECK(allocations == warm);
  }
}

TEST_CASE("nor does one that settles clocks") {
  const Run run = run_of("llama-2-70b", "aws-p5", 512, "megatron", "tp=8,pp=8,zero=1,micro_batch=1", 1024);
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq,
                      ProfileStore().costs_for(run.cluster, "")->costs);
  CHECK(evaluator.predict(run.plan, run.global_batch).stages[0].clock_mhz.has_value());
  evaluator.score(run.plan, run.global_batch);
  const long warm = allocations;
  evaluator.score(run.plan, run.global_batch);
  CHECK(allocations == warm);
}

}  // namespace
}  // namespace foretrain
