#include "spec/model.h"

#include "base/check.h"

namespace foretrain {

std::int64_t Model::layers() const {
  std::int64_t sum = 0;
  for (const BlockRun& run : blocks) sum += run.count;
  return sum;
}

std::vector<std::uint8_t> Model::kind_of_layers() const {
  const BlockKinds kinds(*this);
  std::vector<std::uint8_t> of_layers;
  for (const BlockRun& run : blocks)
    of_layers.insert(of_layers.end(), static_cast<std::size_t>(run.count),
                     static_cast<std::uint8_t>(kinds.of(run.block)));
  return of_layers;
}

BlockKinds::BlockKinds(const Model& model) {
  for (const BlockRun& run : model.blocks) {
    if (of(run.block) < size_) continue;
    CHECK_THAT(size_ < kMaxBlockKinds);
    kinds_[size_++] = &run.block;
  }
}

std::size_t BlockKinds::of(const Block& block) const {
  std::size_t kind = 0;
  while (kind < size_ && !(*kinds_[kind] == block)) ++kind;
  return kind;
}

// Two even where the residual is parallel, as in GPT-NeoX, unless its halves share one.
std::int64_t norms_of_block(const Model& model) {
  if (model.post_norms) return 4;
  return model.one_norm ? 1 : 2;
}

std::int64_t norm_parameters(const Model& model) {
  return ((model.norm_weights ? 1 : 0) + (model.norm_bias ? 1 : 0)) * model.hidden;
}

std::int64_t position_parameters(const Model& model) {
  return model.positions == Positions::kLearned ? model.max_positions * model.hidden : 0;
}

namespace {

ParameterCount counts(const Model& model, const Block& block) {
  const AttentionBiases biases{model.qkv_bias, model.projection_bias, model.norm_bias};
  ParameterCount count = feed_forward_parameters(block.feed_forward, model.hidden, model.biases);
  const std::int64_t rest = attention_parameters(block.attention, model.hidden, biases) +
                            norms_of_block(model) * norm_parameters(model);
  return {count.all + rest, count.active + rest};
}

ParameterCount counts(const Model& model) {
  const std::int64_t table = model.vocab * model.hidden;
  std::int64_t ends = table + position_parameters(model) + norm_parameters(model);  // with the final norm
  if (model.embedding_norm) ends += norm_parameters(model);
  if (!model.tied) ends += table;
  if (model.head_bias) ends += model.vocab;
  ParameterCount sum{ends, ends};
  for (const BlockRun& run : model.blocks) {
    const ParameterCount each = counts(model, run.block);
    sum.all += run.count * each.all;
    sum.active += run.count * each.active;
  }
  return sum;
}

}  // namespace

std::int64_t block_parameters(const Model& model, const Block& block) { return counts(model, block).all; }

std::int64_t parameters(const Model& model) { return counts(model).all; }

std::int64_t active_parameters(const Model& model) { return counts(model).active; }

// A product of two widths to one over norms of both, a block like the last, and a norm (DeepSeek-V3's report,
// arXiv 2412.19437, section 2.2). Embedding and head are the model's own.
std::int64_t mtp_parameters(const Model& model) {
  const std::int64_t h = model.hidden;
  return model.mtp_layers *
         (2 * h * h + 3 * norm_parameters(model) + block_parameters(model, model.blocks.back().block));
}

}  // namespace foretrain
