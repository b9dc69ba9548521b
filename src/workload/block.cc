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

class StepWriter {
 public:
  StepWriter(const Model& model, const Stack& stack, const PassShape& shape, const Block& block)
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
    Step step;
    step.kind = Step::Kind::kEnter;
    steps_.push_back(step);
    entered_ = true;
  }

  void leave() {
    if (shape_.tp == 1) return;
    Step step;
    step.kind = Step::Kind::kLeave;
    steps_.push_back(step);
  }

  std::vector<Step> take() { return std::move(steps_); }

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

  void add(const PartOperator& entry, bool sequence_region) {
    const PassShape& c = shape_;
    const std::int64_t all_tokens = c.micro_batch * c.seq;
    const bool shared = sequence_region && c.sp;
    const std::int64_t tokens = shared ? all_tokens / c.tp : all_tokens;
    const std::int64_t heads = std::max<std::int64_t>(block_.heads / c.tp, 1);
    const std::int64_t kv_heads = std::max<std::int64_t>(block_.kv_heads / c.tp, 1);
    const double a = bytes_of(c.precision);

    Step step;
    step.op.kind = entry.kind;
    step.op.impl = entry.impl;
    step.op.dtype = c.precision;
    step.launches = entry.launches;
    step.op.launches = static_cast<std::int32_t>(entry.launches[0]);
    step.times = entry.times;
    step.selective = entry.selective;

    double inputs = static_cast<double>(tokens * width(entry.in));
    double outputs = static_cast<double>(tokens * width(entry.out));
    double stats = 8.0 * static_cast<double>(tokens);  // mean and deviation of a row, fp32
    switch (entry.kind) {
      case OperatorKind::kLinear:
        step.op.set(LinearSizes{.m = tokens, .k = width(entry.in), .n = width(entry.out)});
        // A gathered input can be dropped and gathered again: then only this rank's share is kept.
        if (entered_ && c.sp_gather_again) inputs /= static_cast<double>(c.tp);
        entered_ = false;
        break;
      case OperatorKind::kBatchedProduct: {
        const bool makes_scores = entry.out == Width::kScores;
        step.op.set(BatchedSizes{.batch = c.micro_batch * heads,
                                 .m = c.seq,
                                 .k = makes_scores ? block_.head_dim : c.seq,
                                 .n = makes_scores ? c.seq : block_.head_dim});
        const double scores = static_cast<double>(c.micro_batch * heads * c.seq * c.seq);
        const double values = static_cast<double>(tokens * width(Width::kKv));
        inputs = makes_scores ? static_cast<double>(tokens * width(Width::kQk)) : scores + values;
        outputs = makes_scores ? scores : static_cast<double>(tokens * width(Width::kQ));
        // The probabilities belong to the softmax or dropout before: the product keeps the values only.
        if (!makes_scores) inputs = values;
        break;
      }
      case OperatorKind::kAttention:
        step.op.set(AttentionSizes{.batch = c.micro_batch,
                                   .heads = heads,
                                   .kv_heads = entry.masked ? heads : kv_heads,
                                   .seq = c.seq,
                                   .head_dim = block_.head_dim,
                                   .causal = entry.masked ? 0 : 1});
        inputs = static_cast<double>(tokens * (entry.masked ? 3 * width(Width::kQ) : width(Width::kQkv)));
        outputs = static_cast<double>(tokens * width(Width::kQ));
        stats = 4.0 * static_cast<double>(c.micro_batch * heads * c.seq);
        break;
      case OperatorKind::kEmbedding:
        step.op.set(EmbeddingSizes{.tokens = tokens, .width = model_.hidden, .vocab = width(Width::kVocab)});
        inputs = 8.0 / a * static_cast<double>(tokens);  // token numbers, int64
        break;
      case OperatorKind::kCrossEntropy:
        step.op.set(LogitSizes{.tokens = tokens, .vocab = width(Width::kVocab)});
        break;
      case OperatorKind::kRope: {
        // Rotation touches a fraction of each head of q and k.
        const double rotated = static_cast<double>(width(entry.in)) * model_.rotary_fraction;
        step.op.set(TokenSizes{.tokens = tokens,
                               .width = std::max<std::int64_t>(static_cast<std::int64_t>(rotated), 1)});
        break;
      }
      default: {
        std::int64_t rows = tokens, columns = width(entry.in);
        if (entry.in == Width::kScores) rows *= heads;
        if (norm_heads_ > 0) {
          rows = all_tokens * norm_heads_;
          columns = block_.head_dim;
          stats = 8.0 * static_cast<double>(rows);
        }
        if (entry.kind == OperatorKind::kSoftmax)
          step.op.set(RowSizes{.rows = rows, .columns = columns});
        else
          step.op.set(TokenSizes{.tokens = rows, .width = columns});
        inputs = outputs = static_cast<double>(rows * columns);
        if (entry.kind == OperatorKind::kSwiglu || entry.kind == OperatorKind::kGeglu) inputs *= 2;
        break;
      }
    }

    const auto bytes_of_saves = [&](const std::vector<SavedTensor>& saves) {
      double saved = 0;
      for (const SavedTensor tensor : saves) {
        switch (tensor) {
          case SavedTensor::kInput:
            if (!input_kept_) saved += a * inputs;
            break;
          case SavedTensor::kOutput:
            saved += a * outputs;
            break;
          case SavedTensor::kInputFp32:
            saved += 4 * inputs;
            break;
          case SavedTensor::kOutputFp32:
            saved += 4 * outputs;
            break;
          case SavedTensor::kMask:
            saved += inputs;
            break;
          case SavedTensor::kStats:
            saved += stats;
            break;
        }
      }
      return Bytes(saved * static_cast<double>(entry.times));
    };
    step.saved = bytes_of_saves(entry.saves);
    if (entry.selective_saves)
      step.selective_saved = bytes_of_saves(*entry.selective_saves);
    else if (!entry.selective)
      step.selective_saved = step.saved;
    if (entry.extra) step.extra = {Bytes((*entry.extra)[0] * outputs), Bytes((*entry.extra)[1] * outputs)};
    step.has_backward = entry.launches[1] > 0 || entry.launches[2] > 0;
    if (step.op.launches > 0 || step.has_backward) steps_.push_back(step);
    if (entry.kind == OperatorKind::kRope && model_.rotary_fraction < 1) add_rejoin(entry, tokens);
  }

  // A partial rotation is put beside the rest of each head again: one more copy of both, joined piece by
  // piece unless the rotation is one kernel.
  void add_rejoin(const PartOperator& rope, std::int64_t tokens) {
    Step copy;
    const Impl impl = rope.impl == Impl::kFused ? Impl::kAten : Impl::kEager;
    copy.op = pointwise(OperatorKind::kCopy, {.tokens = tokens, .width = width(rope.in)},
                        {.impl = impl, .dtype = shape_.precision, .launches = 2});
    copy.launches = {2, 2, 0};
    steps_.push_back(copy);
  }

  const Model& model_;
  const Stack& stack_;
  const PassShape& shape_;
  const Block& block_;
  std::vector<Step> steps_;
  bool entered_ = false;         // the next product's input came through f
  bool input_kept_ = false;      // what comes in is kept by another part
  std::int64_t norm_heads_ = 0;  // above 0: a norm is of so many heads a token
};

}  // namespace

std::vector<Step> embedding_steps(const Model& model, const Stack& stack, const PassShape& shape) {
  StepWriter out(model, stack, shape, model.blocks.front().block);
  out.part(stack.parts.embedding, false);
  out.leave();  // each rank knows its share of the vocabulary
  if (model.embedding_norm) out.part(stack.parts.norm[static_cast<std::size_t>(model.norm)], true);
  return out.take();
}

std::vector<Step> block_steps(const Model& model, const Stack& stack, const PassShape& shape,
                              const Block& block) {
  StepWriter out(model, stack, shape, block);
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

std::vector<Step> head_steps(const Model& model, const Stack& stack, const PassShape& shape) {
  StepWriter out(model, stack, shape, model.blocks.front().block);
  out.part(stack.parts.norm[static_cast<std::size_t>(model.norm)], true);
  out.enter();
  out.part(stack.parts.head, false);
  out.part(stack.parts.loss, false);
  return out.take();
}

}  // namespace foretrain
