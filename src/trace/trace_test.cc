#include "trace/trace_index.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "predict/any_run.h"
#include "trace/critical_path.h"
#include "trace/rank_time.h"

namespace foretrain {
namespace {

struct Traced {
  Prediction prediction;
  StepTrace trace;
};

Traced traced(const Run& run) {
  Traced out;
  out.prediction = evaluator_of(run).predict(run.plan, run.global_batch, &out.trace);
  return out;
}

Seconds of(const CriticalPath& path, StepCause cause) {
  return path.by_cause[static_cast<std::size_t>(cause)];
}

}  // namespace

TEST_CASE("a traced prediction is the same prediction, and its last event ends with the step") {
  const Run run = run_of("gpt-neox-20b", "perlmutter", 128, "neox", "tp=4,pp=4,micro_batch=4", 512);
  const Traced t = traced(run);
  const Prediction plain = evaluator_of(run).predict(run.plan, run.global_batch);
  CHECK(t.prediction.score() == plain.score());
  CHECK(t.prediction.breakdown == plain.breakdown);
  Seconds last;
  for (const Event& event : t.trace.events) last = std::max(last, event.end);
  CHECK(last.value == t.trace.step.value);
  CHECK(t.trace.step.value == doctest::Approx(t.prediction.step.value).epsilon(1e-12));
  CHECK(static_cast<std::int64_t>(t.trace.events.size()) <= events_of(job_of(run)) + 4 * 64);
}

TEST_CASE("the critical path of equal stages is m + p - 1 forwards and backwards") {
  // p = 3, m = 4: (4 + 2) x 4 s. On the way down two more forwards, on the way up two more backwards.
  const StepTrace trace = equal_stages(3, 4);
  const TraceIndex index(trace);
  const CriticalPath path = critical_path(trace, index);
  CHECK(trace.step.value == 24);
  CHECK(of(path, StepCause::kForward).value == 6);
  CHECK(of(path, StepCause::kBackward).value == doctest::Approx(12));
  CHECK(of(path, StepCause::kRecompute).value == doctest::Approx(6));
  CHECK(of(path, StepCause::kBubble).value == 0);
  REQUIRE(path.links.size() == 12);
  CHECK(label(trace.events[static_cast<std::size_t>(path.links.front().event)]) == "F0");
  CHECK(label(trace.events[static_cast<std::size_t>(path.links.back().event)]) == "B3");
  Seconds ranks;
  for (const Seconds s : path.by_rank) ranks += s;
  CHECK(ranks.value == 24);
}

TEST_CASE("what a rank waits for is named by the pass that comes next") {
  // Of p = 3, m = 4 the first rank waits for gradients only: (p - 1)(f + b) = 8 s in all. The last waits two
  // forwards for its first activation, and then for the others at the end.
  const StepTrace trace = equal_stages(3, 4);
  const TraceIndex index(trace);
  const RankTime first = rank_time(trace, spans_of(trace, index, 0));
  CHECK(first.passes.value == 16);
  CHECK(first.wait_activation.value == 0);
  CHECK(first.wait_gradient.value == 8);
  CHECK(first.wait_stages.value == 0);
  const RankTime last = rank_time(trace, spans_of(trace, index, 2));
  CHECK(last.passes.value == 16);
  CHECK(last.wait_activation.value == 2);
  CHECK(last.wait_gradient.value == 0);
  CHECK(last.wait_stages.value == 6);
}

TEST_CASE("the bubble of equal stages is (p-1)/(m+p-1)") {
  Prediction p;
  p.stages.resize(3);  // m = 4: busy 16 of 24 s; only the first rank's passes end with the step
  p.stages[0].busy = p.stages[1].busy = p.stages[2].busy = Seconds(16);
  p.stages[0].idle = Seconds(8);
  p.stages[1].idle = Seconds(5);
  p.stages[2].idle = Seconds(2);
  CHECK(bubble_fraction(p) == doctest::Approx(2.0 / 6.0));
}

TEST_CASE("a reduction that begins inside a backward hangs on that pass up to then") {
  // One rank, one micro-batch: F 1 s, B 3 s; a bucket complete 2 s before the end takes 10 s.
  StepTrace trace = equal_stages(1, 1);
  trace.events.push_back({0, EventKind::kReduce, 0, Seconds(2), Seconds(12)});
  trace.events.push_back({0, EventKind::kOptimizer, 0, Seconds(12), Seconds(13)});
  trace.step = Seconds(13);
  const TraceIndex index(trace);
  const CriticalPath path = critical_path(trace, index);
  REQUIRE(path.links.size() == 4);
  CHECK(of(path, StepCause::kForward).value == 1);
  CHECK(of(path, StepCause::kGradientReduce).value == 10);
  CHECK(of(path, StepCause::kOptimizer).value == 1);
  const RankTime time = rank_time(trace, spans_of(trace, index, 0));
  CHECK(time.passes.value == 4);
  CHECK(time.reduce.value == 8);  // what is not beside the backward
}

TEST_CASE("a receive that blocks follows the sender's pass, not its send") {
  // Rank 0: F0 [0, 1], send [1, 3]. Rank 1: receive [1, 3], F0 [3, 4], B0 [4, 7].
  StepTrace trace;
  trace.pipeline = {ScheduleKind::k1f1b, 2, 1};
  trace.micro_batches = 1;
  trace.events = {{0, EventKind::kForward, 0, Seconds(0), Seconds(1)},
                  {0, EventKind::kSend, 0, Seconds(1), Seconds(3)},
                  {1, EventKind::kReceive, 0, Seconds(1), Seconds(3)},
                  {1, EventKind::kForward, 0, Seconds(3), Seconds(4)},
                  {1, EventKind::kBackward, 0, Seconds(4), Seconds(7)}};
  trace.step = Seconds(7);
  trace.chunks = equal_stages(2, 1).chunks;
  const TraceIndex index(trace);
  const CriticalPath path = critical_path(trace, index);
  REQUIRE(path.links.size() == 4);
  CHECK(path.links[0].rank == 0);
  CHECK(path.links[1].event == 2);
  CHECK(of(path, StepCause::kPipelineSend).value == 2);
  CHECK(of(path, StepCause::kBubble).value == 0);
}

TEST_CASE("of any run, path and spans have no gaps, sum to the step, and agree with the prediction") {
  CHECK(rc::check([] {
    Run run = any_run(1, Draw::kAllSchedules);
    run.stack.pipeline.blocking = *rc::gen::arbitrary<bool>();
    run.stack.pipeline.serial = *rc::gen::arbitrary<bool>();
    if (events_of(job_of(run)) > 100'000) return;
    const Traced t = traced(run);
    const TraceIndex index(t.trace);
    const double step = t.trace.step.value, close = 1e-7 * step;
    const CriticalPath path = critical_path(t.trace, index);
    double now = 0, causes = 0;
    for (const PathLink& link : path.links) {
      RC_ASSERT(std::abs(link.from.value - now) <= close);
      RC_ASSERT(link.to >= link.from);
      now = link.to.value;
    }
    RC_ASSERT(now == step);
    for (const Seconds s : path.by_cause) causes += s.value;
    RC_ASSERT(std::abs(causes - step) <= close);
    // Every link is something that ran: the walk has not lost its way.
    RC_ASSERT(path.by_cause[static_cast<std::size_t>(StepCause::kBubble)].value <= close);

    for (std::int64_t r = 0; r < run.plan.pp; ++r) {
      const auto spans = spans_of(t.trace, index, r);
      double end = 0;
      for (const Span& span : spans) {
        RC_ASSERT(std::abs(span.start.value - end) <= close);
        end = span.end.value;
      }
      RC_ASSERT(std::abs(end - step) <= close);
      const StagePrediction& stage = t.prediction.stages[static_cast<std::size_t>(r)];
      const RankTime time = rank_time(t.trace, spans);
      RC_ASSERT(std::abs((time.passes + time.messages - stage.busy).value) <= close);
      RC_ASSERT(std::abs((time.wait_activation + time.wait_gradient - stage.idle).value) <= close);
    }
  }));
}

}  // namespace foretrain
