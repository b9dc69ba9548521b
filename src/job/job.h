// One plan of a setting, said once: who exchanges with whom (mesh), what is done (choices), in which order
// (pipeline) and how often (batch). Everything that follows reads this and never the plan: what a plan leaves
// open to its stack has been decided. Memos are kept by small projections of it (a pass's shape, an update's
// format), so that plans share what they have in common.
#pragma once

#include <cstdint>
#include <span>

#include "job/choices.h"
#include "job/mesh.h"
#include "job/packing.h"
#include "job/pipeline.h"
#include "job/setting.h"
#include "spec/run.h"

namespace foretrain {

struct Job {
  Mesh mesh;
  Pipeline pipeline;
  Choices choices;
  std::int64_t seq = 0;
  std::int64_t global_batch = 0;   // sequences a step
  std::int64_t micro_batch = 1;    // sequences a pass
  std::int64_t micro_batches = 1;  // passes a step, of each data rank
  AttentionSpans spans{};          // of packed documents, on the fullest rank
  // The plan's own, by stage or by chunk, while the plan is there; empty: by the stack's rule.
  std::span<const std::int64_t> layers_per_stage;

  std::int64_t tokens() const { return micro_batch * (seq / mesh.cp); }  // of a pass, on one rank
  // What is asked for and has an effect here: the gathers of sp, and checkpoints that tensor ranks can share.
  bool gathers_again() const { return choices.sp && choices.sp_gather_again; }
  bool partitions_activations() const { return choices.partition_activations && mesh.tp > 1; }
};

// Of a checked plan (run_check.h), so that dp is set. Allocates nothing.
Job job_of(const Setting& setting, const Plan& plan, std::int64_t global_batch);
Job job_of(const Run& run);

}  // namespace foretrain
