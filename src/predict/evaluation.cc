#include "predict/evaluation.h"

namespace foretrain {

void Placed::start(const Job& of) {
  job = of;
  placement = {of.pipeline.schedule, of.pipeline.stages, of.pipeline.chunks_per_stage};
  per_chunk = runs_both_ways(placement.kind) ? of.micro_batches / 2 : of.micro_batches;
  worst_stage = 0;
  pipeline = PipelineWork{};
}

void simulate(Simulated& e) {
  e.step = e.timeline.simulate(e.pipeline);
  e.busiest = 0;
  const auto times = e.times();
  for (std::size_t r = 0; r < times.size(); ++r)
    if (times[r].compute + times[r].sending > times[e.busiest].compute + times[e.busiest].sending)
      e.busiest = r;
}

}  // namespace foretrain
