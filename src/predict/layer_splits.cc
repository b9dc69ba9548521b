#include "predict/layer_splits.h"

#include <algorithm>

#include "job/split.h"

namespace foretrain {

LayerSplits::LayerSplits(const Setting& setting) : setting_(setting) {
  if (setting.model.blocks.size() > 1) kinds_ = setting.model.kind_of_layers();
}

std::span<const Chunk> LayerSplits::of(const Job& job) {
  const Pipeline& pipeline = job.pipeline;
  const std::int64_t chunks = pipeline.model_chunks();
  if (static_cast<std::int64_t>(job.layers_per_stage.size()) == chunks)
    return cut(job.layers_per_stage, job, given_);
  if (!job.layers_per_stage.empty()) {
    deal_over_chunks(job.layers_per_stage, pipeline, counts_);
    return cut(counts_, job, given_);
  }
  auto found = splits_.find(chunks);
  if (found == splits_.end()) {
    std::vector<Chunk> split;
    cut(split_layers(setting_.model, setting_.stack.pipeline.split, chunks), job, split);
    found = splits_.emplace(chunks, std::move(split)).first;
  }
  if (!kinds_.empty()) mark_recomputed(job, found->second);
  mark_plain(job, found->second);
  return found->second;
}

bool LayerSplits::by_stage(const Job& job) const {
  return kinds_.empty() && !job.choices.low.is_narrow() && !runs_both_ways(job.pipeline.schedule) &&
         static_cast<std::int64_t>(job.layers_per_stage.size()) == job.pipeline.stages;
}

std::span<const Chunk> LayerSplits::cut(std::span<const std::int64_t> counts, const Job& job,
                                        std::vector<Chunk>& chunks) const {
  chunks.assign(counts.size(), Chunk{});
  std::size_t layer = 0;
  for (std::size_t n = 0; n < counts.size(); ++n) {
    if (kinds_.empty()) {
      chunks[n].layers[0] = static_cast<std::int32_t>(counts[n]);
      continue;
    }
    for (std::int64_t i = 0; i < counts[n]; ++i) ++chunks[n].layers[kinds_[layer++]];
  }
  if (!kinds_.empty()) mark_recomputed(job, chunks);
  mark_plain(job, chunks);
  return chunks;
}

void LayerSplits::mark_recomputed(const Job& job, std::vector<Chunk>& chunks) const {
  std::size_t begin = 0;
  for (Chunk& chunk : chunks) {
    const std::int64_t count = chunk.all_layers(), some = std::min(count, job.choices.recompute_layers);
    chunk.again.fill(0);
    for (std::int64_t i = 0; i < some; ++i) ++chunk.again[kinds_[begin + static_cast<std::size_t>(i)]];
    begin += static_cast<std::size_t>(count);
  }
}

void LayerSplits::mark_plain(const Job& job, std::vector<Chunk>& chunks) const {
  const LowPrecision& low = job.choices.low;
  if (!low.is_narrow()) {  // as most plans are; of those before, marks may have stayed
    for (Chunk& chunk : chunks) chunk.plain.fill(0);
    return;
  }
  const std::int64_t layers = setting_.model.layers();
  std::int64_t begin = 0;
  for (Chunk& chunk : chunks) {
    chunk.mark_plain(begin, layers, kinds_, low);
    begin += chunk.all_layers();
  }
}

}  // namespace foretrain
