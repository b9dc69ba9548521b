#include "predict/evaluation.h"

namespace foretrain {

void Evaluation::start(const Plan& of, std::int64_t global_batch) {
  plan = &of;
  placement = {of.effective_schedule(), of.pp, of.chunks_per_stage()};
  micro_batches = global_batch / (of.dp * of.micro_batch);
  per_chunk = runs_both_ways(placement.kind) ? micro_batches / 2 : micro_batches;
  step = Seconds(0);
  spread = 0;
  busiest = worst_stage = 0;
  has_times = false;
  pipeline = PipelineWork{};
}

}  // namespace foretrain
