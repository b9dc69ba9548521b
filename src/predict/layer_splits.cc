#include "predict/layer_splits.h"

#include "timeline/schedule.h"
#include "workload/split.h"

namespace foretrain {

std::span<const std::int64_t> LayerSplits::of(const Job& job) {
  const Pipeline& pipeline = job.pipeline;
  const std::int64_t chunks = pipeline.model_chunks();
  if (static_cast<std::int64_t>(job.layers_per_stage.size()) == chunks) return job.layers_per_stage;
  if (!job.layers_per_stage.empty()) {  // by stage: evenly over its chunks, the first ones first
    chunk_layers_.assign(static_cast<std::size_t>(chunks), 0);
    for (std::int64_t n = 0; n < chunks; ++n) {
      const std::int64_t layers = job.layers_per_stage[static_cast<std::size_t>(pipeline.rank(n))];
      const std::int64_t extra = pipeline.chunk(n) < layers % pipeline.chunks_per_stage ? 1 : 0;
      chunk_layers_[static_cast<std::size_t>(n)] = layers / pipeline.chunks_per_stage + extra;
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
