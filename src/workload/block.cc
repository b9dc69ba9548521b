#include "workload/block.h"

#include <algorithm>

#include "base/check.h"
#include "operators/attention.h"
#include "operators/embedding.h"
#include "operators/pointwise.h"
#include "operators/product.h"
#include "operators/softmax.h"
#include "workload/parameter_share.h"

namespace foretrain {
namespace {

class BlockWriter {
 public:
  BlockWriter(const Model& model, const Stack& stack, const PassShape& shape, const Block& block)
      : model_(model), stack_(stack), shape_(shape), block_(block) {}

  // Operators of `part` on all tokens, or, in the regions that sequence parallelism divides, on a share.
  void part(const Part& part, bool sequence_region) {
    for (const PartOperator& entry : part)
      if (applies(entry.when)) add(entry, sequence_region);
  }

  // The same, where another part has kept the input already.
  void part_on_kept_input(const Part& part, bool sequence_region) {
    input_kept_ = true;
    this->part(part, sequence_region);
    input_kept_ = false;
  }

  // The norm's operators over each head of a width, on this rank's heads.
  void norm_of_heads(const Part& norm, std::int64_t heads) {
    norm_heads_ = heads;
    part(norm, false);
    norm_heads_ = 0;
  }

  void enter() {
    if (shape_.tp == 1) return;
    BlockItem item;
    item.kind = BlockItem::Kind::kEnter;
    items_.push_back(item);
    entered_ = true;
  }

  void leave() {
    if (shape_.tp == 1) return;
    BlockItem item;
    item.kind = BlockItem::Kind::kLeave;
    items_.push_back(item);
  }

  std::vector<BlockItem> take() { return std::move(items_); }

 private:
  bool applies(Condition when) const {
    switch (when) {
      case Condition::kAlways:
        return true;
      case Condition::kBias:
        return model_.biases;
      case Condition::kQkvBias:
        return model_.qkv_bias;
      case Condition::kDropout:
        return shape_.dropout;
      case Condition::kNoDropout:
        return !shape_.dropout;
      case Condition::kFusedQkv:
        return model_.fused_qkv;
      case Condition::kSplitQkv:
        return !model_.fused_qkv;
      case Condition::kGrouped:
        return block_.kv_heads < block_.heads;
      case Condition::kLearnedPositions:
        return model_.positions == Positions::kLearned;
      case Condition::kPartialRotary:
        return model_.positions == Positions::kRope && model_.rotary_fraction < 1;
      case Condition::kGeluErf:
        return model_.gelu == Gelu::kErf;
      case Condition::kGeluTanh:
        return model_.gelu == Gelu::kTanh;
    }
    return true;
  }

  // Elements a token has on one rank.
  std::int64_t width(Width which) const {
    const std::int64_t tp = shape_.tp;
    const std::int64_t q = block_.q_width() / tp;
    // Fewer key-value heads than ranks: each rank keeps a whole one.
    const std::int64_t kv = std::max<std::int64_t>(block_.kv_heads / tp, 1) * block_.head_dim;
    switch (which) {
      case Width::kHidden:
        return model_.hidden;
      case Width::kQ:
        return q;
      case Width::kKv:
        return kv;
      case Width::kQk:
        return q + kv;
      case Width::kQkv:
        return q + 2 * kv;
      case Width::kFfn:
        return block_.ffn / tp;
      case Width::kGateUp:
        return (is_gated(block_.mlp) ? 2 : 1) * block_.ffn / tp;
      case Width::kVocab:
        return padded_vocab(model_, stack_, tp) / tp;
      case Width::kScores:
        return shape_.seq;  // of one head and one query
    }
    return 0;
  }

  // What an operator reads and writes, in elements, and the statistics of its rows in bytes.
  struct Amounts {
    double inputs = 0;
    double outputs = 0;
    double stats = 0;
  };

  std::int64_t all_tokens() const { return shape_.micro_batch * shape_.seq; }
  std::int64_t heads() const { return std::max<std::int64_t>(block_.heads / shape_.tp, 1); }
  std::int64_t kv_heads() const { return std::max<std::int64_t>(block_.kv_heads / shape_.tp, 1); }

  void add(const PartOperator& entry, bool sequence_region) {
    const bool shared = sequence_region && shape_.sp;
    const std::int64_t tokens = shared ? all_tokens() / shape_.tp : all_tokens();

    BlockItem item;
    item.op.kind = entry.kind;
    item.op.impl = entry.impl;
    item.op.dtype = shape_.precision;
    item.launches = entry.launches;
    item.op.launches = static_cast<std::int32_t>(entry.launches[0]);
    item.times = entry.times;
    item.selective = entry.selective;

    const Amounts amounts = set_sizes(item.op, entry, tokens);
    item.saved = saved_bytes(entry.saves, amounts, entry.times);
    if (entry.selective_saves)
      item.selective_saved = saved_bytes(*entry.selective_saves, amounts, entry.times);
    else if (!entry.selective)
      item.selective_saved = item.saved;
    if (entry.extra)
      item.extra = {Bytes((*entry.extra)[0] * amounts.outputs), Bytes((*entry.extra)[1] * amounts.outputs)};
    item.has_backward = entry.launches[1] > 0 || entry.launches[2] > 0;
    if (item.op.launches > 0 || item.has_backward) items_.push_back(item);
    if (entry.kind == OperatorKind::kRope && model_.rotary_fraction < 1) add_rejoin(entry, tokens);
  }

  Amounts set_sizes(Operator& op, const PartOperator& entry, std::int64_t tokens) {
    Amounts amounts{.inputs = static_cast<double>(tokens * width(entry.in)),
                    .outputs = static_cast<double>(tokens * width(entry.out)),
                    .stats = 8.0 * static_cast<double>(tokens)};  // mean and deviation of a row, fp32
    switch (entry.kind) {
      case OperatorKind::kLinear:
        op.set(LinearSizes{.m = tokens, .k = width(entry.in), .n = width(entry.out)});
        // A gathered input can be dropped and gathered again: then only this rank's share is kept.
        if (entered_ && shape_.sp_gather_again) amounts.inputs /= static_cast<double>(shape_.tp);
        entered_ = false;
        break;
      case OperatorKind::kBatchedProduct:
        set_batched_product(op, entry.out == Width::kScores, tokens, amounts);
        break;
      case OperatorKind::kAttention:
        set_attention(op, entry.masked, tokens, amounts);
        break;
      case OperatorKind::kEmbedding:
        op.set(EmbeddingSizes{.tokens = tokens, .width = model_.hidden, .vocab = width(Width::kVocab)});
        // Token numbers, int64.
        amounts.inputs = 8.0 / bytes_of(shape_.precision) * static_cast<double>(tokens);
        break;
      case OperatorKind::kCrossEntropy:
        op.set(LogitSizes{.tokens = tokens, .vocab = width(Width::kVocab)});
        break;
      case OperatorKind::kRope: {
        // Rotation touches a fraction of each head of q and k.
        const double rotated = static_cast<double>(width(entry.in)) * model_.rotary_fraction;
        op.set(TokenSizes{.tokens = tokens,
                          .width = std::max<std::int64_t>(static_cast<std::int64_t>(rotated), 1)});
        break;
      }
      default:
        set_pointwise(op, entry.in, tokens, amounts);
    }
    return amounts;
  }

  // Queries times keys make scores; probabilities times values make the output.
  void set_batched_product(Operator& op, bool makes_scores, std::int64_t tokens, Amounts& amounts) const {
    const std::int64_t batch = shape_.micro_batch * heads(), seq = shape_.seq;
    op.set(BatchedSizes{.batch = batch,
                        .m = seq,
                        .k = makes_scores ? block_.head_dim : seq,
                        .n = makes_scores ? seq : block_.head_dim});
    if (makes_scores) {
      amounts.inputs = static_cast<double>(tokens * width(Width::kQk));
      amounts.outputs = static_cast<double>(batch * seq * seq);
    } else {
      // The probabilities belong to the softmax or dropout before: the product keeps the values only.
      amounts.inputs = static_cast<double>(tokens * width(Width::kKv));
      amounts.outputs = static_cast<double>(tokens * width(Width::kQ));
    }
  }

  void set_attention(Operator& op, bool masked, std::int64_t tokens, Amounts& amounts) const {
    op.set(AttentionSizes{.batch = shape_.micro_batch,
                          .heads = heads(),
                          .kv_heads = masked ? heads() : kv_heads(),
                          .seq = shape_.seq,
                          .head_dim = block_.head_dim,
                          .causal = masked ? 0 : 1});
    amounts.inputs = static_cast<double>(tokens * (masked ? 3 * width(Width::kQ) : width(Width::kQkv)));
    amounts.outputs = static_cast<double>(tokens * width(Width::kQ));
    amounts.stats = 4.0 * static_cast<double>(shape_.micro_batch * heads() * shape_.seq);
  }

  // Norms, activations, copies, dropout and the softmax of scores: rows of columns, each on its own.
  void set_pointwise(Operator& op, Width in, std::int64_t tokens, Amounts& amounts) const {
    std::int64_t rows = tokens, columns = width(in);
    if (in == Width::kScores) rows *= heads();
    if (norm_heads_ > 0) {
      rows = all_tokens() * norm_heads_;
      columns = block_.head_dim;
      amounts.stats = 8.0 * static_cast<double>(rows);
    }
    if (op.kind == OperatorKind::kSoftmax)
      op.set(RowSizes{.rows = rows, .columns = columns});
    else
      op.set(TokenSizes{.tokens = rows, .width = columns});
    amounts.inputs = amounts.outputs = static_cast<double>(rows * columns);
    if (op.kind == OperatorKind::kSwiglu || op.kind == OperatorKind::kGeglu) amounts.inputs *= 2;
  }

  Bytes saved_bytes(const std::vector<SavedTensor>& saves, const Amounts& amounts, std::int64_t times) const {
    double saved = 0;
    for (const SavedTensor tensor : saves) saved += saved_bytes(tensor, amounts);
    return Bytes(saved * static_cast<double>(times));
  }

  double saved_bytes(SavedTensor tensor, const Amounts& amounts) const {
    const double element = bytes_of(shape_.precision);
    switch (tensor) {
      case SavedTensor::kInput:
        return input_kept_ ? 0 : element * amounts.inputs;
      case SavedTensor::kOutput:
        return element * amounts.outputs;
      case SavedTensor::kInputFp32:
        return 4 * amounts.inputs;
      case SavedTensor::kOutputFp32:
        return 4 * amounts.outputs;
      case SavedTensor::kMask:
        return amounts.inputs;
      case SavedTensor::kStats:
        return amounts.stats;
    }
    return 0;
  }

  // A partial rotation is put beside the rest of each head again: one more copy of both, joined piece by
  // piece unless the rotation is one kernel.
  void add_rejoin(const PartOperator& rope, std::int64_t tokens) {
    BlockItem copy;
    const Impl impl = rope.impl == Impl::kFused ? Impl::kAten : Impl::kEager;
    copy.op = pointwise(OperatorKind::kCopy, {.tokens = tokens, .width = width(rope.in)},
                        {.impl = impl, .dtype = shape_.precision, .launches = 2});
    copy.launches = {2, 2, 0};
    items_.push_back(copy);
  }

  const Model& model_;
  const Stack& stack_;
  const PassShape& shape_;
  const Block& block_;
  std::vector<BlockItem> items_;
  bool entered_ = false;         // the next product's input came through f
  bool input_kept_ = false;      // what comes in is kept by another part
  std::int64_t norm_heads_ = 0;  // above 0: a norm is of so many heads a token
};

}  // namespace

std::vector<BlockItem> embedding_items(const Model& model, const Stack& stack, const PassShape& shape) {
  BlockWriter out(model, stack, shape, model.blocks.front().block);
  out.part(stack.parts.embedding, false);
  out.leave();  // each rank knows its share of the vocabulary
  if (model.embedding_norm) out.part(stack.parts.norm[static_cast<std::size_t>(model.norm)], true);
  return out.take();
}

std::vector<BlockItem> block_items(const Model& model, const Stack& stack, const PassShape& shape,
                                   const Block& block) {
  BlockWriter out(model, stack, shape, block);
  const Part& norm = stack.parts.norm[static_cast<std::size_t>(model.norm)];
  const Part& mlp = stack.parts.mlp[static_cast<std::size_t>(block.mlp)];
  const Part& residual = stack.parts.residual[static_cast<std::size_t>(model.residual)];
  const bool parallel = model.residual == Residual::kParallel;

  out.part(norm, true);
  out.enter();
  out.part(stack.parts.qkv, false);
  if (model.qk_norm) {
    out.norm_of_heads(norm, std::max<std::int64_t>(block.heads / shape.tp, 1));
    out.norm_of_heads(norm, std::max<std::int64_t>(block.kv_heads / shape.tp, 1));
  }
  if (model.positions == Positions::kRope) out.part(stack.parts.rope, false);
  out.part(stack.parts.attention[static_cast<std::size_t>(shape.attention)], false);
  out.part(stack.parts.projection, false);
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
  out.part(mlp, false);
  out.leave();
  out.part(residual, true);
  return out.take();
}

std::vector<BlockItem> head_items(const Model& model, const Stack& stack, const PassShape& shape) {
  BlockWriter out(model, stack, shape, model.blocks.front().block);
  out.part(stack.parts.norm[static_cast<std::size_t>(model.norm)], true);
  out.enter();
  out.part(stack.parts.head, false);
  out.part(stack.parts.loss, false);
  return out.take();
}

}  // namespace foretrain
