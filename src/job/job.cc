#include "job/job.h"

namespace foretrain {
namespace {

Job job_of(const Model& model, const Stack& stack, std::int64_t seq, const Plan& plan,
           std::int64_t global_batch) {
  return {.mesh = mesh_of(plan),
          .pipeline = pipeline_of(plan),
          .choices = choices_of(model, stack, plan),
          .seq = seq,
          .global_batch = global_batch,
          .micro_batch = plan.micro_batch,
          .micro_batches = micro_batches_of(plan, global_batch),
          .layers_per_stage = plan.layers_per_stage};
}

}  // namespace

Job job_of(const Setting& setting, const Plan& plan, std::int64_t global_batch) {
  return job_of(setting.model, setting.stack, setting.seq, plan, global_batch);
}

Job job_of(const Run& run) { return job_of(run.model, run.stack, run.seq, run.plan, run.global_batch); }

}  // namespace foretrain
