// With one chunk a stage, the words are stages.
#include "job/split.h"

#include <algorithm>
#include <numeric>

namespace foretrain {
namespace {

// Equal shares, the remainder one each from the front.
std::vector<std::int64_t> deal(std::int64_t items, std::int64_t stages) {
  std::vector<std::int64_t> shares(static_cast<std::size_t>(stages), items / stages);
  for (std::int64_t i = 0; i < items % stages; ++i) ++shares[static_cast<std::size_t>(i)];
  return shares;
}

// DeepSpeed's uniform partition as GPT-NeoX uses it: embedding and a preparing layer stand before the blocks;
// a finishing layer, the norm and the head after them, and all are dealt by count.
std::vector<std::int64_t> split_pipeline_layers(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> shares = deal(layers + 5, stages);
  std::int64_t before = 2;
  for (auto& share : shares) {
    const std::int64_t taken = std::min(share, before);
    share -= taken;
    before -= taken;
  }
  std::int64_t after = 3;
  for (auto share = shares.rbegin(); share != shares.rend(); ++share) {
    const std::int64_t taken = std::min(*share, after);
    *share -= taken;
    after -= taken;
  }
  return shares;
}

// Nanotron: blocks fill a stage until their cumulative cost passes the stage's share of the total; a block
// costs its products, the head V*h, all else nothing.
std::vector<std::int64_t> split_by_cost(const Model& model, std::int64_t stages) {
  const double h = static_cast<double>(model.hidden);
  const auto cost = [h](const Block& b) {
    return 4 * static_cast<double>(b.attention.q_width()) * h +
           (is_gated(b.feed_forward.mlp) ? 3 : 2) * static_cast<double>(b.feed_forward.ffn) * h;
  };
  double total = 0;
  for (const BlockRun& run : model.blocks) total += cost(run.block) * static_cast<double>(run.count);
  total += static_cast<double>(model.vocab) * h;
  std::vector<std::int64_t> shares(static_cast<std::size_t>(stages), 0);
  std::size_t stage = 0;
  double sum = 0;
  for (const BlockRun& run : model.blocks)
    for (std::int64_t i = 0; i < run.count; ++i) {
      ++shares[stage];
      sum += cost(run.block);
      if (sum > total * static_cast<double>(stage + 1) / static_cast<double>(stages) &&
          stage + 1 < shares.size())
        ++stage;
    }
  return shares;
}

}  // namespace

std::vector<std::int64_t> split_layers(const Model& model, StageSplit rule, std::int64_t stages) {
  switch (rule) {
    case StageSplit::kEven:
      return deal(model.layers(), stages);
    case StageSplit::kCost:
      return split_by_cost(model, stages);
    case StageSplit::kPipelineLayers:
      return split_pipeline_layers(model.layers(), stages);
  }
  return {};
}

void deal_over_chunks(std::span<const std::int64_t> stages, const Pipeline& pipeline,
                      std::vector<std::int64_t>& chunks) {
  chunks.assign(static_cast<std::size_t>(pipeline.model_chunks()), 0);
  for (std::size_t n = 0; n < chunks.size(); ++n) {
    const auto piece = static_cast<std::int64_t>(n);
    const std::int64_t layers = stages[static_cast<std::size_t>(pipeline.rank(piece))];
    const std::int64_t extra = pipeline.chunk(piece) < layers % pipeline.chunks_per_stage ? 1 : 0;
    chunks[n] = layers / pipeline.chunks_per_stage + extra;
  }
}

std::vector<std::int64_t> layers_by_chunk(const Model& model, StageSplit rule, const Pipeline& pipeline,
                                          std::span<const std::int64_t> stated) {
  if (stated.empty()) return split_layers(model, rule, pipeline.model_chunks());
  std::vector<std::int64_t> chunks(stated.begin(), stated.end());
  if (static_cast<std::int64_t>(stated.size()) != pipeline.model_chunks())
    deal_over_chunks(stated, pipeline, chunks);
  return chunks;
}

}  // namespace foretrain
