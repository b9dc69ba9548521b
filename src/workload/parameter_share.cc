#include "workload/parameter_share.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {
namespace {

// Weight matrices of a part, which holds each as a product.
std::int64_t matrices(const Part& part, const Model& model) {
  std::int64_t count = 0;
  for (const PartOperator& op : part) {
    const bool other_form = op.when == (model.fused_qkv ? Condition::kSplitQkv : Condition::kFusedQkv);
    if (op.kind == OperatorKind::kLinear && !other_form) count += op.times;
  }
  return count;
}

}  // namespace

std::int64_t padded_vocab(const Model& model, const Stack& stack, std::int64_t tp) {
  const std::int64_t multiple = stack.tensor_parallel.vocab_multiple * tp;
  return (model.vocab + multiple - 1) / multiple * multiple;
}

ParameterShare parameter_share(const Model& model, const Stack& stack, std::int64_t tp, const Chunk& chunk,
                               bool ends_together) {
  CHECK_THAT(model.blocks.size() == 1);
  const Block& b = model.blocks.front().block;
  const std::int64_t h = model.hidden;
  const std::int64_t q = b.q_width() / tp;
  const std::int64_t kv = std::max<std::int64_t>(b.kv_heads / tp, 1) * b.head_dim;
  const std::int64_t up = (is_gated(b.mlp) ? 2 : 1) * b.ffn / tp;
  const std::int64_t norm = norm_parameters(model);
  const std::int64_t norm_tensors = model.norm_bias && model.norm == Norm::kLayernorm ? 2 : 1;

  std::int64_t block = h * (q + 2 * kv) + q * h + h * up + b.ffn / tp * h + 2 * norm;
  const std::int64_t qkv_tensors = matrices(stack.parts.qkv, model);
  const std::int64_t other_tensors = matrices(stack.parts.projection, model) +
                                     matrices(stack.parts.mlp[static_cast<std::size_t>(b.mlp)], model);
  std::int64_t block_tensors = qkv_tensors + other_tensors + 2 * norm_tensors;
  if (model.qk_norm) block += 2 * norm_tensors * b.head_dim, block_tensors += 2 * norm_tensors;
  if (model.qkv_bias) block += q + 2 * kv, block_tensors += qkv_tensors;
  if (model.biases) block += h + up + h, block_tensors += other_tensors;  // row-parallel: on every rank

  ParameterShare share;
  share.elements = chunk.layers * block;
  share.matrix_elements = chunk.layers * (h * (q + 2 * kv) + q * h + h * up + b.ffn / tp * h);
  if (chunk.layers > 0)
    share.largest_matrix = share.largest_tensor = h * std::max({q + 2 * kv, up, b.ffn / tp});
  share.tensors = chunk.layers * block_tensors;
  const std::int64_t table = padded_vocab(model, stack, tp) / tp * h;
  if (chunk.first || chunk.last) share.largest_tensor = std::max(share.largest_tensor, table);
  if (chunk.first) {
    share.elements += table + position_parameters(model) + (model.embedding_norm ? norm : 0);
    share.tensors += 1 + (position_parameters(model) > 0 ? 1 : 0) + (model.embedding_norm ? norm_tensors : 0);
  }
  if (chunk.last) {
    share.elements += norm;
    share.tensors += norm_tensors;
    if (!model.tied || !ends_together) share.elements += table, ++share.tensors;
  }
  if (model.tied && !ends_together && (chunk.first || chunk.last)) share.embedding_elements = table;
  return share;
}

}  // namespace foretrain
