#include "spec/model.h"

namespace foretrain {

std::int64_t Model::layers() const {
  std::int64_t sum = 0;
  for (const BlockRun& run : blocks) sum += run.count;
  return sum;
}

std::int64_t norm_parameters(const Model& model) { return model.norm_bias ? 2 * model.hidden : model.hidden; }

std::int64_t position_parameters(const Model& model) {
  return model.positions == Positions::kLearned ? model.max_positions * model.hidden : 0;
}

std::int64_t block_parameters(const Model& model, const Block& block) {
  const std::int64_t h = model.hidden;
  const std::int64_t qkv = block.q_width() + 2 * block.kv_width();
  const std::int64_t up = is_gated(block.mlp) ? 2 * block.ffn : block.ffn;
  std::int64_t count = h * qkv + block.q_width() * h + h * up + block.ffn * h;
  if (model.qkv_bias) count += qkv;
  if (model.biases) count += h + up + h;  // projection, mlp up, mlp down
  if (model.qk_norm) count += 2 * block.head_dim * (model.norm_bias ? 2 : 1);
  return count + 2 * norm_parameters(model);  // two norms even where the residual is parallel, as in GPT-NeoX
}

std::int64_t parameters(const Model& model) {
  const std::int64_t table = model.vocab * model.hidden;
  std::int64_t count = table + position_parameters(model) + norm_parameters(model);  // with the final norm
  if (model.embedding_norm) count += norm_parameters(model);
  if (!model.tied) count += table;
  for (const BlockRun& run : model.blocks) count += run.count * block_parameters(model, run.block);
  return count;
}

}  // namespace foretrain
