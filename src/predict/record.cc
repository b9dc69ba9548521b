#include "predict/record.h"

#include <algorithm>
#include <array>

namespace foretrain {

void record(const Stack& stack, Simulated& e, StepTrace& trace) {
  trace.pipeline = e.job.pipeline;
  trace.micro_batches = e.job.micro_batches;
  trace.blocking_sends = e.work.blocking_sends;
  trace.step = e.timeline.simulate(e.work, &trace.events);
  trace.chunks.clear();
  for (std::size_t n = 0; n < e.chunks.size(); ++n) {
    const ChunkCost& cost = *e.chunks[n];
    const ChunkLoad& load = e.work.chunks[n];
    TracedChunk& chunk = trace.chunks.emplace_back();
    const double stretch = e.stretch_of(n);
    const auto causes = [&](const Segment& segment) {
      const AtClock at(segment, stretch);
      std::array<Seconds, kCauseCount> by_cause;
      for (std::size_t i = 0; i < by_cause.size(); ++i) by_cause[i] = at.by_cause(i);
      return by_cause;
    };
    chunk.by_cause = {causes(cost.forward), causes(cost.backward), causes(cost.input), causes(cost.weight)};
    chunk.held = load.held;
    chunk.held_for_weight = load.held_for_weight;
    chunk.forward_extra = load.forward_extra;
    chunk.backward_extra = std::max(load.backward_extra, load.backward_end - load.held);
    chunk.input_extra = load.backward_extra;
    chunk.weight_extra = std::max(load.weight_extra, load.backward_end - load.held_for_weight);
  }
  trace.states.clear();
  for (const StageParts& part : e.stages) trace.states.push_back(part.states);
  trace.lazy_gradients = stack.states.lazy_gradients && e.job.micro_batches == 1;
}

}  // namespace foretrain
