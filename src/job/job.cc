#include "job/job.h"

namespace foretrain {
namespace {

AttentionSpans spans_of(const Packing& packing, std::int64_t seq, const Plan& plan,
                        std::int64_t global_batch) {
  if (packing.keys[0] == 0) return {};
  const double sequences = static_cast<double>(global_batch) / static_cast<double>(plan.dp);
  return attention_spans(
      packing, plan.document_imbalance.value_or(usual_document_imbalance(packing, sequences, plan.dp)), seq);
}

Job job_of(const Model& model, const Gpu& gpu, const Stack& stack, const Packing& packing, std::int64_t seq,
           const Plan& plan, std::int64_t global_batch) {
  Job job{.mesh = mesh_of(plan),
          .pipeline = pipeline_of(plan),
          .choices = choices_of(model, stack, plan),
          .seq = seq,
          .global_batch = global_batch,
          .micro_batch = plan.micro_batch,
          .micro_batches = micro_batches_of(plan, global_batch),
          .spans = spans_of(packing, seq, plan, global_batch),
          .layers_per_stage = plan.layers_per_stage};
  job.choices.low.by_rows_alone = !takes_any_layout(gpu);
  return job;
}

}  // namespace

Job job_of(const Setting& setting, const Plan& plan, std::int64_t global_batch) {
  return job_of(setting.model, setting.cluster.gpu, setting.stack, setting.packing, setting.seq, plan,
                global_batch);
}

Job job_of(const Run& run) {
  return job_of(run.model, run.cluster.gpu, run.stack, packing_of(run.model, run.documents, run.seq), run.seq,
                run.plan, run.global_batch);
}

}  // namespace foretrain
