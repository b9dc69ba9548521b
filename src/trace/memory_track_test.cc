#include "trace/memory_track.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

#include "predict/any_run.h"
#include "predict/evaluator.h"
#include "predict/testing.h"

using namespace foretrain;

TEST_CASE("Two stages under 1f1b hold two micro-batches and one; the peak is in a backward") {
  StepTrace trace = equal_stages(2, 4);
  for (TracedChunk& chunk : trace.chunks) {
    chunk.held = Bytes(10);
    chunk.forward_extra = Bytes(1);
    chunk.backward_extra = Bytes(3);
  }
  trace.states.assign(2, StateBytes{.weights = Bytes(100), .gradients = Bytes(0), .optimizer = Bytes(0)});
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const MemoryPoint peak = peak_of(memory_track(trace, rank));
    CHECK(peak.allocated == Bytes(100 + 10.0 * (rank == 0 ? 2 : 1) + 3));
    CHECK(trace.events[static_cast<std::size_t>(peak.event)].kind == EventKind::kBackward);
    CHECK(memory_track(trace, rank).back().allocated == Bytes(100));  // nothing is left behind
  }
}

TEST_CASE("The simulated peak of every rank is the one that score's closed form has") {
  CHECK(rc::check([] {
    const Run run = any_run(1, Draw::kAllSchedules);
    StepTrace trace;
    const Prediction p = predict(run, nullptr, &trace);
    for (std::size_t r = 0; r < p.stages.size(); ++r) {
      const StagePrediction& stage = p.stages[r];
      const auto track = memory_track(trace, static_cast<std::int64_t>(r));
      const double simulated = peak_of(track).allocated.value, told = stage.memory.allocated.value;
      if (stage.peak_in_step)
        RC_ASSERT(simulated <= told * (1 + 1e-9));  // an update that takes no time is no event
      else
        RC_ASSERT(std::abs(simulated - told) <= 1e-9 * told);
      const double left = track.back().allocated.value - stage.states.total().value;
      RC_ASSERT(std::abs(left) <= 1e-6 * told);
    }
  }));
}

TEST_CASE("What a peak consists of sums to it") {
  CHECK(rc::check([] {
    const Run run = any_run(1, Draw::kAllSchedules);
    for (const StagePrediction& stage : predict(run).stages) {
      Bytes sum = stage.waiting + stage.gathered + stage.shared_buffers + stage.working;
      for (const Bytes saved : stage.saved) sum += saved;
      RC_ASSERT(std::abs(sum.value - stage.activations.value) <= 1e-9 * stage.activations.value + 1);
    }
  }));
}

TEST_CASE(
    "offloaded activations leave the GPU, and a slow link to the host makes passes last as long as copies") {
  Run run = run_of("llama-2-7b", "dgx-h100", 8, "generic", "zero=1,micro_batch=2", 64);
  const Prediction kept = predict(run);
  run.plan.offload = true;
  run.cluster.gpu.host = gigabytes_per_second(1e6);
  const Prediction fast = predict(run);
  CHECK(fast.step.value == doctest::Approx(kept.step.value));
  // Two of 32 layers stay: the one at work and the one on its way.
  CHECK(fast.stages[0].activations < kept.stages[0].activations * 0.2);
  run.cluster.gpu.host = gigabytes_per_second(10);
  const Prediction slow = predict(run);
  CHECK(slow.peak_allocated == fast.peak_allocated);
  CHECK(slow.step.value > 2 * fast.step.value);
  CHECK(cause(slow, StepCause::kLaunch) > cause(fast, StepCause::kLaunch));
}
