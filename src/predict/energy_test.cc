// Energy and clocks of steps made by hand, in which halves of a backward are not what the whole is.
#include "predict/energy.h"

#include <doctest/doctest.h>

#include "predict/clocks.h"

namespace foretrain {
namespace {

Segment pass_of(double seconds, double watts) {
  Segment segment;
  segment.duration = Seconds(seconds);
  segment.by_cause[static_cast<std::size_t>(Cause::kForward)] = segment.duration;
  segment.clocked.by_cause = segment.by_cause;  // all of it follows the clock
  segment.clocked.clocked_joules = seconds * watts;
  return segment;
}

// Two ranks, with forwards of 1 s at 100 W, whole backwards of 3 s at 200 W, their halves 1 s each at 300 W,
// and an update of 1 s at 100 W.
struct TwoRanks {
  ChunkCost cost;
  Segment optimizer = pass_of(1, 100);
  Simulated e;

  explicit TwoRanks(ScheduleKind schedule, std::int64_t micro_batches) {
    cost.forward = pass_of(1, 100);
    cost.backward = pass_of(3, 200);
    cost.input = pass_of(1, 300);
    cost.weight = pass_of(1, 300);
    Plan plan;
    plan.pp = 2;
    plan.dp = plan.micro_batch = 1;
    plan.schedule = schedule;
    e.start(job_of(Setting{}, plan, micro_batches));
    const auto pieces = static_cast<std::size_t>(e.job.pipeline.pieces());
    e.chunks.assign(pieces, &cost);
    e.stages.assign(2, {});
    e.paces.assign(2, {1, &optimizer});
    ChunkLoad load;
    load.forward = cost.forward.duration;
    load.backward = cost.backward.duration;
    load.input = cost.input.duration;
    load.weight = cost.weight.duration;
    e.loads.assign(pieces, load);
    e.updates.assign(2, {optimizer.duration, Seconds(0)});
    e.work.chunks = e.loads;
    e.work.updates = e.updates;
    e.work.chunks_per_rank = e.job.pipeline.chunks_per_stage;
    e.work.micro_batches = micro_batches;
    e.work.schedule = schedule;
    e.timeline.measure(e.work);
    e.counts.assign(e.timeline.chunks().begin(), e.timeline.chunks().end());
  }
};

Gpu gpu() {
  Gpu gpu;
  gpu.power_cap_w = 500;  // and 150 W while it waits
  return gpu;
}

TEST_CASE("a whole backward draws what it draws, and waiting its share of the cap") {
  TwoRanks two(ScheduleKind::k1f1b, 4);
  two.e.step = two.e.timeline.simulate(two.e.work);
  // (m + p - 1)(f + b) and the update; each rank is busy for m (f + b) and the update.
  REQUIRE(two.e.step == Seconds(21));
  CHECK(joules(gpu(), nullptr, two.e, two.e.step) ==
        doctest::Approx(2 * (4 * (100 + 600) + 100 + (21 - 17) * 150.0)));
}

TEST_CASE("where a schedule splits the backward, its halves are counted and not the whole") {
  TwoRanks two(ScheduleKind::kZbH1, 4);
  two.e.step = two.e.timeline.simulate(two.e.work);
  const double waiting = (two.e.step.value - (4 * 3 + 1)) * 150;
  CHECK(joules(gpu(), nullptr, two.e, two.e.step) ==
        doctest::Approx(2 * (4 * (100 + 300 + 300) + 100 + waiting)));
}

TEST_CASE("the energy of a bound is of the same passes, and no more than that of the step") {
  for (const ScheduleKind schedule :
       {ScheduleKind::k1f1b, ScheduleKind::kZbH1, ScheduleKind::kZbv, ScheduleKind::kDualpipe}) {
    CAPTURE(name(schedule));
    TwoRanks two(schedule, 8);
    two.e.step = two.e.timeline.least(two.e.work);
    const double bound = joules(gpu(), nullptr, two.e, two.e.step);
    const Seconds least = two.e.step;
    two.e.step = two.e.timeline.simulate(two.e.work);
    const double all = joules(gpu(), nullptr, two.e, two.e.step);
    CHECK(bound <= all);
    CHECK(bound >= all - 2 * (two.e.step - least).value * 150 - 1e-6);
  }
}

// At the clock x a rank's P s of passes, its update of 1 s and waiting, a share (p - 1)/m of its passes, take
// (P + 1) / x + P / 8. Its 8 (100 + 600) + 100 J become x times that. A cap of what it draws at x = 1/2
// settles the mean card there, and the slower of two a little below. Halves draw as much in less time.
TEST_CASE("clocks are settled by the passes that run, whole or in halves") {
  const PowerModel power{.exponent = 1, .reference_mhz = 1000};
  const auto settles_at_half = [&](ScheduleKind schedule, double passes) {
    TwoRanks two(schedule, 8);
    Gpu capped = gpu();
    capped.clock_max_mhz = 1000;
    capped.power_cap_w = 0.5 * 5700 / (2 * (passes + 1) + passes / 8);
    settle_clocks(capped, &power, two.e);
    for (const StagePace& pace : two.e.paces) CHECK(pace.stretch == doctest::Approx(2 / slowest_card(2)));
  };
  settles_at_half(ScheduleKind::k1f1b, 8 * (1 + 3));
  settles_at_half(ScheduleKind::kZbH1, 8 * (1 + 1 + 1));
}

}  // namespace
}  // namespace foretrain
