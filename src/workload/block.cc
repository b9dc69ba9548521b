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
  out.feed_attention(true);
  if (attention.is_latent()) {
    out.part(parts.latent_down, true);
    out.enter(attention.kv_rank + attention.rope_dim +
              (attention.q_rank > 0 ? attention.q_rank : model.hidden));
    const BlockWriter::Module module(out, RecomputeModule::kLatentUp);
    out.part(parts.latent_up, false);
  } else {
    out.enter();
    out.part(parts.qkv, false);
    for (const std::int64_t heads : {heads_of(attention, shape.tp), kv_heads_of(attention, shape.tp)}) {
      if (attention.qk_norm == QkNorm::kHead || attention.qk_norm == QkNorm::kOwnHead)
        out.norm_of_parts(norm_of(model, stack), heads, attention.head_dim);
      if (attention.qk_norm == QkNorm::kWhole)
        out.norm_of_parts(norm_of(model, stack), 1, heads * attention.head_dim);
    }
    if (model.positions == Positions::kRope) out.part(parts.rope, false);
  }
  out.feed_attention(false);
  out.part(parts.attention[static_cast<std::size_t>(shape.attention)], false);
  out.part(parts.projection, false);
}

// Experts lie between exchanges of tokens of their own; what all tokens pass beside them is an MLP of tensor
// ranks, which may work while tokens travel.
void write_experts(const Stack& stack, const PassShape& shape, const FeedForward& f, BlockWriter& out) {
  using enum RecomputeModule;
  using Half = BlockWriter::Half;
  const Stack::Parts& parts = stack.parts;
  const auto by = static_cast<std::size_t>(shape.experts.dispatcher), kind = static_cast<std::size_t>(f.mlp);
  const BlockWriter::Module moe(out, kMoe);
  const bool shared = f.shared_ffn > 0, beside = shared && shape.experts.beside && shape.ep > 1;
  const auto shared_up = [&] { out.shared_mlp(parts.mlp[kind], Half::kUp); };
  const auto shared_down = [&] {
    out.shared_mlp(parts.mlp[kind], Half::kDown);
    out.leave();
  };
  const BlockWriter::Graph whole(out, shape.graphs.experts);
  // A graph that moves rows holds no wait for their numbers: it comes after (Megatron-LM's cuda_dtoh_point).
  const bool waits_later = shape.graphs.preprocess;
  {
    const BlockWriter::Graph graph(out, shape.graphs.router);
    out.part(parts.router, true);
  }
  if (shape.expert_products == ExpertProducts::kLoop) {
    out.part(parts.experts_loop[kind], true);
  } else {
    if (!waits_later) out.wait_for_counts();
    {
      const BlockWriter::Graph graph(out, shape.graphs.preprocess);
      out.part(parts.dispatch[by], true);
    }
    if (waits_later) out.wait_for_counts();
    if (beside) out.enter();  // what shared experts work on is there before tokens leave
    out.send_tokens(true, beside);
    if (beside) shared_up();
    out.arrived();
    out.part(parts.arrive[by], true);
    out.experts(parts.experts[kind]);
    out.part(parts.depart[by], true);
    out.send_tokens(false, beside);
    if (beside) shared_down();
    out.arrived();
    out.part(parts.combine[by], true);
  }
  if (!shared) return;
  if (!beside) {
    const BlockWriter::Module module(out, kSharedExperts);
    const BlockWriter::Graph graph(out, shape.graphs.router);
    out.enter();
    shared_up();
    shared_down();
  }
  out.part(parts.shared, true);
}

// What tensor ranks divide of it lies between f and g.
void write_feed_forward(const Stack& stack, const PassShape& shape, const FeedForward& f, bool enters,
                        BlockWriter& out) {
  if (f.has_experts()) {
    write_experts(stack, shape, f, out);
    return;
  }
  if (enters) out.enter();
  {
    const BlockWriter::Module module(out, RecomputeModule::kMlp);
    out.dense_mlp(stack.parts.mlp[static_cast<std::size_t>(f.mlp)]);
  }
  out.leave();
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

const Exchange* entered_through(const std::vector<BlockItem>& items, std::size_t i) {
  while (i > 0 && items[i - 1].is_cast() && items[i - 1].launches[0] > 0) --i;
  return i > 0 && items[i - 1].enters() ? &*items[i - 1].exchange : nullptr;
}

const Exchange* left_through(const std::vector<BlockItem>& items, std::size_t i) {
  if (!items[i].has_weights() && !items[i].is_cast()) return nullptr;
  while (i + 1 < items.size() && items[i + 1].is_cast()) ++i;
  if (i + 1 == items.size() || !items[i + 1].exchange) return nullptr;
  const Exchange& next = *items[i + 1].exchange;
  const bool adds =
      next.group == GroupKind::kTensor && !next.enters && next.forward == CollectiveKind::kReduceScatter;
  return adds ? &next : nullptr;
}

bool enters_product(const std::vector<BlockItem>& items, std::size_t i) {
  if (!items[i].enters()) return false;
  std::size_t next = i + 1;
  while (next < items.size() && items[next].is_cast()) ++next;
  return next < items.size() && items[next].has_weights() && !items[next].early;
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

  {
    const BlockWriter::Graph graph(out, shape.graphs.attention);
    {
      const BlockWriter::Module module(out, RecomputeModule::kLayernorm);
      out.part(norm, true);
    }
    write_attention(model, stack, shape, block.attention, out);
    // Parallel halves add their partial sums before one g, where the stack does so.
    if (!parallel || stack.tensor_parallel.parallel_all_reduces[0] > 1) out.leave();
    if (model.post_norms) out.part(norm, true);
    if (!parallel) out.part(residual, true);
  }
  {
    const bool experts = block.feed_forward.has_experts();
    const BlockWriter::Graph graph(out, experts ? shape.graphs.experts : shape.graphs.mlp);
    // Parallel halves have norms of one input.
    {
      const BlockWriter::Graph before_router(out, experts && shape.graphs.router);
      const BlockWriter::Module module(out, RecomputeModule::kLayernorm);
      if (model.one_norm)
        out.input_is_kept();
      else if (parallel)
        out.part_on_kept_input(norm, true);
      else
        out.part(norm, true);
    }
    // The mlp has a norm of its own, so its input is gathered apart; backward a stack may add both halves'
    // gradients before one all-reduce.
    const bool enters = !parallel || shape.sp || stack.tensor_parallel.parallel_all_reduces[1] > 1;
    write_feed_forward(stack, shape, block.feed_forward, enters, out);
    if (model.post_norms) out.part(norm, true);
    out.part(residual, true);
  }
  return out.take();
}

std::vector<BlockItem> mtp_items(const Model& model, const Stack& stack, const PassShape& shape) {
  BlockWriter out(model, stack, shape, model.blocks.back().block);
  const Part& norm = norm_of(model, stack);
  out.part(stack.parts.embedding, false);
  out.leave();
  out.part(norm, true);  // of the embedding, and of what the layers before made
  out.part(norm, true);
  out.part(stack.parts.mtp, true);
  out.part(norm, true);
  out.enter();
  out.head(stack.parts.head, stack.parts.loss);
  return out.take();
}

std::vector<BlockItem> head_items(const Model& model, const Stack& stack, const PassShape& shape) {
  BlockWriter out(model, stack, shape, model.blocks.front().block);
  out.part(norm_of(model, stack), true);
  out.enter();
  out.head(stack.parts.head, stack.parts.loss);
  return out.take();
}

}  // namespace foretrain
