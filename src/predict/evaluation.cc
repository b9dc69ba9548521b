#include "predict/evaluation.h"

namespace foretrain {

void Dealt::start(const Job& of) {
  job = of;
  per_chunk = of.pipeline.through_each(of.micro_batches);
  worst_stage = 0;
  work = PipelineWork{};
}

void Dealt::overlap_as(const Job& of) {
  job = of;
  work.reduce_beside = of.choices.overlap_grad_reduce;
  timeline.measure(work);  // a bound may have left it
}

void simulate(Simulated& e) {
  e.step = e.timeline.simulate(e.work);
  e.busiest = 0;
  const auto times = e.times();
  for (std::size_t r = 0; r < times.size(); ++r)
    if (times[r].compute + times[r].sending > times[e.busiest].compute + times[e.busiest].sending)
      e.busiest = r;
}

}  // namespace foretrain
