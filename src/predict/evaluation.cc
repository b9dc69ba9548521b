#include "predict/evaluation.h"

namespace foretrain {

void Evaluation::start(const Job& of) {
  job = of;
  placement = {of.pipeline.schedule, of.pipeline.stages, of.pipeline.chunks_per_stage};
  per_chunk = runs_both_ways(placement.kind) ? of.micro_batches / 2 : of.micro_batches;
  step = Seconds(0);
  spread = 0;
  busiest = worst_stage = 0;
  has_times = false;
  pipeline = PipelineWork{};
}

}  // namespace foretrain
