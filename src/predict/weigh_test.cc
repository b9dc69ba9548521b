// What a search asks of a plan, in turns, against the whole prediction.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/check.h"
#include "base/testing.h"
#include "cost/profile_store.h"
#include "predict/any_run.h"
#include "spec/cluster_factors.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

// With fitted costs, where the GPU has some, and a cap that leaves clocks alone, or lowers them as far as they go.
void draw_power(Run& run) {
  if (*rc::gen::arbitrary<bool>()) run.cluster.gpu.power_cap_w *= 0.01 * *rc::gen::inRange(15, 130);
}

// A cluster as measurements may have moved it.
void draw_factors(Run& run) {
  if (!*rc::gen::arbitrary<bool>()) return;
  ClusterFactors factors{};
  for (double& factor : factors) factor = 0.01 * *rc::gen::inRange(-100, 200);
  run.cluster = scaled(run.cluster, factors);
}

struct Drawn {
  int narrow = 0, graphs = 0, adapters = 0;
};

Drawn check_bounds(Draw draw) {
  Drawn drawn;
  CHECK(rc::check([&] {
    Run run = any_run(1, draw);
    draw_factors(run);
    const Choices choices = job_of(run).choices;
    drawn.narrow += choices.low.is_narrow();
    drawn.graphs += choices.graphs.any();
    drawn.adapters += choices.adapters.frozen();
    Evaluator evaluator = evaluator_of(run), other = evaluator_of(run);
    const Score score = other.score(run.plan, run.global_batch);
    Weighed weighed = evaluator.weigh(run.plan, run.global_batch);
    RC_ASSERT(weighed.needed() == score.needed);
    RC_ASSERT(weighed.at_least().seconds() <= score.step);
    const PlanFloor any = evaluator.floor(run.plan, run.global_batch);
    RC_ASSERT(any.step <= score.step);
    RC_ASSERT(any.peak <= score.needed);
    RC_ASSERT(any.fits);
    // Knowing what its chunks have at most and what it needs.
    FloorScope scope{score.needed, 0};
    const Job job = job_of(run);
    Setting setting{run.model, run.cluster, run.stack, run.seq, {}};
    LayerSplits splits(setting);
    for (const Chunk& chunk : splits.of(job))
      scope.most_layers = std::max(scope.most_layers, chunk.all_layers());
    if (!runs_both_ways(job.pipeline.schedule)) {
      const std::int64_t stage = told_by(job.pipeline.stages), count = job.pipeline.chunks_per_stage;
      scope.fewest_layers = std::numeric_limits<std::int64_t>::max();
      for (std::int64_t c = 0; c < count; ++c)
        scope.fewest_layers =
            std::min(scope.fewest_layers,
                     splits.of(job)[static_cast<std::size_t>(job.pipeline.piece(stage, c))].all_layers());
      scope.fewest_layers *= count;
    }
    // Whatever overlaps.
    Plan plan = run.plan;
    plan.overlap_grad_reduce = *rc::gen::arbitrary<bool>();
    const PartFloor part = evaluator.part(plan, run.global_batch, scope);
    RC_ASSERT(part.floor().step <= score.step);
    RC_ASSERT(part.floor().peak <= score.needed);
    RC_ASSERT(part.floor().fits);
    const SplitFloor split = part.split(run.plan.layers_per_stage);
    const Bytes peak = split.peak(score.needed);
    RC_LOG() << run.model.name << " on " << run.cluster.name << ", " << run.stack.name << ", batch "
             << run.global_batch << ", seq " << run.seq << ": " << to_text(run.plan) << "; " << peak.value
             << " of " << score.needed.value << " bytes";
    RC_ASSERT(split.step() <= score.step);
    RC_ASSERT(peak <= score.needed);
    // What was weighed before another question is no longer known; nor is a part once another was asked about.
    RC_ASSERT_THROWS_AS(weighed.needed(), Fault);
    evaluator.floor(plan, run.global_batch, scope);
    RC_ASSERT_THROWS_AS(part.split(run.plan.layers_per_stage), Fault);
    RC_ASSERT_THROWS_AS(split.step(), Fault);
    // The order of questions does not matter.
    RC_ASSERT(evaluator.weigh(run.plan, run.global_batch).needed() == score.needed);
    RC_ASSERT(evaluator.score(run.plan, run.global_batch) == score);
  }));
  return drawn;
}

TEST_CASE("a plan weighs what its prediction says, and takes at least its bounds") {
  check_bounds(Draw::kAllSchedules);
}

TEST_CASE("likewise with products in fewer bits, CUDA graphs and adapters") {
  const Drawn drawn = check_bounds(Draw::kEverything);
  MESSAGE(drawn.narrow, " with fewer bits, ", drawn.graphs, " with graphs, ", drawn.adapters,
          " with adapters");
  WARN(drawn.narrow > 0);
  WARN(drawn.graphs > 0);
  WARN(drawn.adapters > 0);
}

TEST_CASE("floors hold at the clocks that a power governor settles") {
  int slowed = 0;
  CHECK(rc::check([&] {
    Run run = any_run(1, Draw::kAllSchedules);
    draw_power(run);
    draw_factors(run);
    const auto costs = ProfileStore().costs_for(run.cluster, "");
    RC_PRE(costs.has_value());
    Evaluator evaluator(run.model, run.cluster, run.stack, run.seq, costs->costs, run.documents);
    const Prediction prediction = evaluator.predict(run.plan, run.global_batch);
    slowed += prediction.stages.front().clock_mhz > 0 &&
              prediction.stages.front().clock_mhz < 0.99 * run.cluster.gpu.clock_max_mhz;
    const PartFloor part = evaluator.part(run.plan, run.global_batch);
    RC_ASSERT(part.floor().step.value <= prediction.step.value);
    RC_ASSERT(part.floor().peak <= prediction.needed);
    const SplitFloor split = part.split(run.plan.layers_per_stage);
    RC_ASSERT(split.step().value <= prediction.step.value);
    RC_ASSERT(split.peak(prediction.needed) <= prediction.needed);
  }));
  MESSAGE(slowed, " at lower clocks");
  WARN(slowed > 0);  // with few trials none may be
}

TEST_CASE("floors hold however much operators and collectives slow each other down") {
  // Above 5.3 both at once take longer than one after the other.
  for (const double scale : {0.2, 1.0, 4.0, 8.0, 20.0})
    for (const char* plan :
         {"zero=3", "tp=4,zero=3", "zero=1,overlap_grad_reduce=1,overlap_param_gather=1"}) {
      Run run = run_of("llama-3-8b", "dgx-h100", 32, "megatron-fsdp", plan, 64);
      run.cluster.beside_scale = scale;
      Evaluator evaluator = evaluator_of(run);
      const Seconds step = evaluator.score(run.plan, run.global_batch).step;
      INFO(std::string(plan), ", ", scale, " times as much");
      CHECK(evaluator.floor(run.plan, run.global_batch).step.value <= step.value);
      const PartFloor part = evaluator.part(run.plan, run.global_batch);
      CHECK(part.floor().step.value <= step.value);
      CHECK(part.split(run.plan.layers_per_stage).step().value <= step.value);
    }
}

TEST_CASE("a floor is near the step of a plan that products decide") {
  const Run run = run_of("llama-3-70b", "dgx-h100", 64, "megatron", "tp=4,sp=1,pp=4,zero=1", 256);
  const auto costs = ProfileStore().costs_for(run.cluster, "");
  REQUIRE(costs.has_value());
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq, costs->costs);
  const Score score = evaluator.score(run.plan, run.global_batch);
  const PartFloor part = evaluator.part(run.plan, run.global_batch);
  CHECK(part.floor().step > score.step * 0.9);
  CHECK(part.split(run.plan.layers_per_stage).step() > score.step * 0.93);
  CHECK(part.split(run.plan.layers_per_stage).peak(score.needed) > score.needed * 0.99);
}

TEST_CASE("what overlaps with what changes no byte that must fit") {
  CHECK(rc::check([] {
    Run run = any_run(1, Draw::kAllSchedules);
    Evaluator evaluator = evaluator_of(run);
    const Bytes needed = evaluator.weigh(run.plan, run.global_batch).needed();
    for (const bool reduce : {false, true})
      for (const bool gather : {false, true}) {
        run.plan.overlap_grad_reduce = reduce;
        run.plan.overlap_param_gather = gather;
        RC_ASSERT(evaluator.weigh(run.plan, run.global_batch).needed() == needed);
      }
  }));
}

TEST_CASE("plans that differ in what overlaps alone, asked one after another, are as if each were alone") {
  CHECK(rc::check([] {
    Run run = any_run(1, *rc::gen::element(Draw::kAllSchedules, Draw::kEverything));
    Evaluator evaluator = evaluator_of(run);
    for (int i = 0; i < 6; ++i) {
      run.plan.overlap_grad_reduce = *rc::gen::arbitrary<bool>();
      run.plan.overlap_param_gather = *rc::gen::arbitrary<bool>();
      Evaluator fresh = evaluator_of(run);
      Weighed weighed = evaluator.weigh(run.plan, run.global_batch);
      Weighed alone = fresh.weigh(run.plan, run.global_batch);
      RC_ASSERT(weighed.needed() == alone.needed());
      RC_ASSERT(weighed.host() == alone.host());
      RC_ASSERT(weighed.at_least().seconds() == alone.at_least().seconds());
      RC_ASSERT(weighed.timed(true).joules() == alone.timed(true).joules());
      if (*rc::gen::arbitrary<bool>())
        RC_ASSERT(evaluator.predict(run.plan, run.global_batch).score() == score_of(run));
      if (*rc::gen::inRange(0, 4) == 0) evaluator.floor(run.plan, run.global_batch);
    }
  }));
}

TEST_CASE("a floor holds where dualpipe's two copies even out layers that do not divide by the stages") {
  Run run = run_of("llama-2-7b", "dgx-h100", 4, "megatron", "pp=4,schedule=dualpipe", 256);
  run.model.blocks.front().count = 5;
  REQUIRE(check_run(run));
  Evaluator evaluator = evaluator_of(run);
  const Seconds floor = evaluator.floor(run.plan, run.global_batch).step;
  const Seconds step = evaluator.score(run.plan, run.global_batch).step;
  CHECK(floor <= step);
  CHECK(floor > step * 0.6);
}

// Plans as a search meets them, with more micro-batches than other tests draw: about a thousand.
TEST_CASE("a timed plan is within a hundredth of the simulator, on random plans") {
  constexpr int kPlansEach = 6;  // a trial, which one plan that is no run ends
  int plans = 0, bounded = 0;
  double worst = 0;
  CHECK(rc::check([&] {
    for (int each = 0; each < kPlansEach; ++each) {
      Run run = any_run(1, *rc::gen::element(Draw::kAllSchedules, Draw::kEverything));
      run.global_batch *= *rc::gen::element<std::int64_t>(1, 2, 8, 32) * run.plan.pp;
      if (!check_run(run)) continue;
      Evaluator evaluator = evaluator_of(run), other = evaluator_of(run);
      const double step = other.score(run.plan, run.global_batch).step.value;
      const TimedStep timed = evaluator.weigh(run.plan, run.global_batch).timed();
      const double error = 1 - timed.seconds().value / step;
      RC_ASSERT((timed.exact() ? error == 0 : error <= kClosedFormError));
      RC_ASSERT(error >= 0);
      ++plans, bounded += !timed.exact();
      worst = std::max(worst, error);
    }
  }));
  MESSAGE(plans, " plans, ", bounded, " of them by a bound, at most ", worst, " below the simulator");
  if (all_trials()) CHECK(bounded > plans / 20);  // of few draws a share says nothing
}

TEST_CASE("with equal stages a timed plan is exact, by simulation or by the bound") {
  // One layer a stage and nothing else: the ends of the model are what makes stages unequal, so compare pp=1.
  const Run one = run_of("llama-2-7b", "dgx-h100", 8, "megatron", "tp=2,zero=1", 4096);
  Evaluator evaluator = evaluator_of(one), other = evaluator_of(one);
  const double step = other.score(one.plan, one.global_batch).step.value;
  const TimedStep timed = evaluator.weigh(one.plan, one.global_batch).timed();
  CHECK(timed.seconds().value == doctest::Approx(step).epsilon(1e-10));
}

TEST_CASE("energy is that of all GPUs: no less than they draw waiting, no more than their caps") {
  CHECK(rc::check([] {
    const Run run = any_run(1, Draw::kAllSchedules);
    Evaluator evaluator = evaluator_of(run);
    const TimedStep timed = evaluator.weigh(run.plan, run.global_batch).timed();
    const double caps = static_cast<double>(run.gpus) * run.cluster.gpu.power_cap_w * timed.seconds().value;
    RC_ASSERT(timed.joules() > 0.25 * caps);
    RC_ASSERT(timed.joules() <= 1.001 * caps);
  }));
}

}  // namespace
}  // namespace foretrain
