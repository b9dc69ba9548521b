#include "workload/block.h"

#include "workload/block_writer.h"

namespace foretrain {
namespace {

const Part& norm_of(const Model& model, const Stack& stack) {
  return stack.parts.norm[static_cast<std::size_t>(model.norm)];
}

// From its input, which has come through f, to its partial sums, which g adds up.
void write_attention(const Model& model, const Stack& stack, const PassShape& shape,
                     const Attention& attention, BlockWriter& out) {
  out.part(stack.parts.qkv, false);
  if (attention.qk_norm != QkNorm::kNone) {
    out.norm_of_heads(norm_of(model, stack), heads_of(attention, shape.tp));
    out.norm_of_heads(norm_of(model, stack), kv_heads_of(attention, shape.tp));
  }
  if (model.positions == Positions::kRope) out.part(stack.parts.rope, false);
  out.part(stack.parts.attention[static_cast<std::size_t>(shape.attention)], false);
  out.part(stack.parts.projection, false);
}

void write_feed_forward(const Stack& stack, const FeedForward& feed_forward, BlockWriter& out) {
  out.part(stack.parts.mlp[static_cast<std::size_t>(feed_forward.mlp)], false);
}

}  // namespace

std::vector<BlockItem> embedding_items(const Model& model, const Stack& stack, const PassShape& shape) {
  BlockWriter out(model, stack, shape, model.blocks.front().block);
  out.part(stack.parts.embedding, false);
  out.leave();  // each rank knows its share of the vocabulary
  if (model.embedding_norm) out.part(norm_of(model, stack), true);
  return out.take();
}

std::vector<BlockItem> block_items(const Model& model, const Stack& stack, const PassShape& shape,
                                   const Block& block) {
  BlockWriter out(model, stack, shape, block);
  const Part& norm = norm_of(model, stack);
  const Part& residual = stack.parts.residual[static_cast<std::size_t>(model.residual)];
  const bool parallel = model.residual == Residual::kParallel;

  out.part(norm, true);
  out.enter();
  write_attention(model, stack, shape, block.attention, out);
  // Parallel halves add their partial sums before one g, where the stack does so.
  if (!parallel || stack.tensor_parallel.parallel_all_reduces[0] > 1) out.leave();
  if (!parallel) out.part(residual, true);
  // Parallel halves have norms of one input.
  if (parallel)
    out.part_on_kept_input(norm, true);
  else
    out.part(norm, true);
  // The mlp has a norm of its own, so its input is gathered apart; backward a stack may add both halves'
  // gradients before one all-reduce.
  if (!parallel || shape.sp || stack.tensor_parallel.parallel_all_reduces[1] > 1) out.enter();
  write_feed_forward(stack, block.feed_forward, out);
  out.leave();
  out.part(residual, true);
  return out.take();
}

std::vector<BlockItem> head_items(const Model& model, const Stack& stack, const PassShape& shape) {
  BlockWriter out(model, stack, shape, model.blocks.front().block);
  out.part(norm_of(model, stack), true);
  out.enter();
  out.part(stack.parts.head, false);
  out.part(stack.parts.loss, false);
  return out.take();
}

}  // namespace foretrain
