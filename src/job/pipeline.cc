#include "job/pipeline.h"

namespace foretrain {

Pipeline pipeline_of(const Plan& plan) {
  Pipeline pipeline;
  if (plan.pp == 1) return pipeline;
  pipeline.stages = plan.pp;
  pipeline.schedule = plan.schedule;
  if (plan.schedule == ScheduleKind::k1f1b && plan.vpp > 1) pipeline.schedule = ScheduleKind::kInterleaved;
  if (plan.schedule == ScheduleKind::kInterleaved && plan.vpp == 1) pipeline.schedule = ScheduleKind::k1f1b;
  pipeline.chunks_per_stage = chunks_per_rank(pipeline.schedule, plan.vpp);
  return pipeline;
}

}  // namespace foretrain
