#include "workload/parameter_share.h"

#include <algorithm>

#include "workload/widths.h"

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

std::int64_t norm_tensors(const Model& model) {
  return model.norm_bias && model.norm == Norm::kLayernorm ? 2 : 1;
}

// Layers of one kind.
void add_layers(const Model& model, const Stack& stack, std::int64_t tp, const Block& b, std::int64_t count,
                ParameterShare& share) {
  const std::int64_t h = model.hidden;
  const std::int64_t q = b.attention.q_width() / tp;
  const std::int64_t kv = kv_heads_of(b.attention, tp) * b.attention.head_dim;
  const std::int64_t up = b.feed_forward.up_width(b.feed_forward.ffn) / tp, down = b.feed_forward.ffn / tp;
  const std::int64_t matrix = h * (q + 2 * kv) + q * h + h * up + down * h;

  std::int64_t block = matrix + 2 * norm_parameters(model);
  const std::int64_t qkv_tensors = matrices(stack.parts.qkv, model);
  const std::int64_t other_tensors =
      matrices(stack.parts.projection, model) +
      matrices(stack.parts.mlp[static_cast<std::size_t>(b.feed_forward.mlp)], model);
  std::int64_t tensors = qkv_tensors + other_tensors + 2 * norm_tensors(model);
  if (b.attention.qk_norm != QkNorm::kNone) {
    block += 2 * norm_tensors(model) * b.attention.head_dim;
    tensors += 2 * norm_tensors(model);
  }
  if (model.qkv_bias) block += q + 2 * kv, tensors += qkv_tensors;
  if (model.biases) block += h + up + h, tensors += other_tensors;  // row-parallel: on every rank

  share.elements += count * block;
  share.matrix_elements += count * matrix;
  share.tensors += count * tensors;
  share.largest_matrix = std::max(share.largest_matrix, h * std::max({q + 2 * kv, up, down}));
  share.largest_tensor = std::max(share.largest_tensor, share.largest_matrix);
}

}  // namespace

ParameterShare parameter_share(const Model& model, const Stack& stack, std::int64_t tp, const Chunk& chunk,
                               bool ends_together) {
  const std::int64_t h = model.hidden, norm = norm_parameters(model), norms = norm_tensors(model);
  ParameterShare share;
  const BlockKinds kinds(model);
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (chunk.layers[k] > 0) add_layers(model, stack, tp, kinds[k], chunk.layers[k], share);
  const std::int64_t table = padded_vocab(model, stack, tp) / tp * h;
  if (chunk.first || chunk.last) share.largest_tensor = std::max(share.largest_tensor, table);
  if (chunk.first) {
    share.elements += table + position_parameters(model) + (model.embedding_norm ? norm : 0);
    share.tensors += 1 + (position_parameters(model) > 0 ? 1 : 0) + (model.embedding_norm ? norms : 0);
  }
  if (chunk.last) {
    share.elements += norm;
    share.tensors += norms;
    if (!model.tied || !ends_together) share.elements += table, ++share.tensors;
  }
  if (model.tied && !ends_together && (chunk.first || chunk.last)) share.embedding_elements = table;
  return share;
}

}  // namespace foretrain
