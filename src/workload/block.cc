#include "workload/block.h"

#include "operators/product.h"
#include "workload/block_writer.h"

namespace foretrain {
namespace {

const Part& norm_of(const Model& model, const Stack& stack) {
  return stack.parts.norm[static_cast<std::size_t>(model.norm)];
}

// From the normed input to partial sums, which g adds up.
void write_attention(const Model& model, const Stack& stack, const PassShape& shape,
                     const Attention& attention, BlockWriter& out) {
  const Stack::Parts& parts = stack.parts;
  if (attention.is_latent()) {
    out.part(parts.latent_down, true);
    out.enter(attention.kv_rank + attention.rope_dim +
              (attention.q_rank > 0 ? attention.q_rank : model.hidden));
    out.part(parts.latent_up, false);
  } else {
    out.enter();
    out.part(parts.qkv, false);
    for (const std::int64_t heads : {heads_of(attention, shape.tp), kv_heads_of(attention, shape.tp)}) {
      if (attention.qk_norm == QkNorm::kHead)
        out.norm_of_parts(norm_of(model, stack), heads, attention.head_dim);
      if (attention.qk_norm == QkNorm::kWhole)
        out.norm_of_parts(norm_of(model, stack), 1, heads * attention.head_dim);
    }
    if (model.positions == Positions::kRope) out.part(parts.rope, false);
  }
  out.part(parts.attention[static_cast<std::size_t>(shape.attention)], false);
  out.part(parts.projection, false);
}

// What tensor ranks divide of it lies between f and g, experts between exchanges of their own.
void write_feed_forward(const Stack& stack, const FeedForward& f, ExpertProducts products, bool enters,
                        BlockWriter& out) {
  const Stack::Parts& parts = stack.parts;
  const Part& mlp = parts.mlp[static_cast<std::size_t>(f.mlp)];
  if (!f.has_experts()) {
    if (enters) out.enter();
    out.part(mlp, false);
    out.leave();
    return;
  }
  out.part(parts.router, true);
  if (products == ExpertProducts::kLoop) {
    out.part(parts.experts_loop[static_cast<std::size_t>(f.mlp)], true);
  } else {
    out.part(parts.dispatch, true);
    out.part(parts.experts[static_cast<std::size_t>(f.mlp)], true);
    out.part(parts.combine, true);
  }
  if (f.shared_ffn == 0) return;
  out.enter();
  out.shared_mlp(mlp);
  out.leave();
  out.part(parts.shared, true);
}

}  // namespace

ProductSizes BlockItem::product() const {
  if (op.kind == OperatorKind::kGroupedProduct) {
    const auto sizes = op.as<GroupedSizes>();
    return {static_cast<double>(sizes.m), static_cast<double>(sizes.k), static_cast<double>(sizes.n)};
  }
  const auto sizes = op.as<LinearSizes>();
  return {static_cast<double>(sizes.m), static_cast<double>(sizes.k), static_cast<double>(sizes.n)};
}

std::int64_t BlockItem::matrices() const {
  return op.kind == OperatorKind::kGroupedProduct ? op.as<GroupedSizes>().experts : 1;
}

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
  const bool enters = !parallel || shape.sp || stack.tensor_parallel.parallel_all_reduces[1] > 1;
  write_feed_forward(stack, block.feed_forward, shape.expert_products, enters, out);
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
