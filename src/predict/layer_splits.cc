#include "predict/layer_splits.h"

#include "timeline/schedule.h"
#include "workload/workload.h"

namespace foretrain {

const std::vector<std::int64_t>& LayerSplits::of(const Plan& plan) {
  const std::int64_t chunks = plan.model_chunks();
  if (static_cast<std::int64_t>(plan.layers_per_stage.size()) == chunks) return plan.layers_per_stage;
  if (!plan.layers_per_stage.empty()) {  // by stage: evenly over its chunks, the first ones first
    const Placement placement{plan.effective_schedule(), plan.pp, plan.chunks_per_stage()};
    chunk_layers_.assign(static_cast<std::size_t>(chunks), 0);
    for (std::int64_t n = 0; n < chunks; ++n) {
      const std::int64_t layers = plan.layers_per_stage[static_cast<std::size_t>(placement.rank(n))];
      const std::int64_t extra = placement.chunk(n) < layers % placement.chunks ? 1 : 0;
      chunk_layers_[static_cast<std::size_t>(n)] = layers / placement.chunks + extra;
    }
    return chunk_layers_;
  }
  auto found = splits_.find(chunks);
  if (found == splits_.end())
    found =
        splits_.emplace(chunks, split_layers(setting_.model, setting_.stack.pipeline.split, chunks)).first;
  return found->second;
}

}  // namespace foretrain
