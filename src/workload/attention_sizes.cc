#include "workload/attention_sizes.h"

#include "operators/attention.h"
#include "operators/product.h"

namespace foretrain {
namespace {

std::int64_t tokens_of(const AttentionHere& at) { return at.shape.tokens(); }
std::int64_t heads(const AttentionHere& at) { return heads_of(at.attention, at.shape.tp); }

// What queries see, as AttentionSizes states it: causal sequences, or others with as many tiles of scores.
std::int64_t causal(const AttentionHere& at, std::int64_t plain) {
  const std::int64_t seq = at.shape.seq, window = at.attention.window;
  std::int64_t span = window_span(window, seq);
  if (at.shape.spans[0] > 0) span = at.shape.spans[place_of(at.model, window)];
  return span == seq ? plain : span;
}

// The sums of exponentials, fp32, a query and head.
double statistics(const AttentionHere& at) { return 4.0 * static_cast<double>(tokens_of(at) * heads(at)); }

Amounts set_latent(Operator& op, const AttentionHere& at) {
  op.kind = OperatorKind::kLatentAttention;
  op.set(LatentAttentionSizes{.batch = at.shape.micro_batch,
                              .heads = heads(at),
                              .seq = at.shape.seq,
                              .qk_dim = at.attention.head_dim,
                              .v_dim = at.attention.v_dim,
                              .causal = causal(at, 0)});
  const std::int64_t tokens = tokens_of(at), out = at.widths[Width::kAttended];
  return {.inputs = static_cast<double>(tokens * (2 * at.widths[Width::kQ] + out)),
          .outputs = static_cast<double>(tokens * out),
          .stats = statistics(at)};
}

}  // namespace

Amounts set_attention(Operator& op, const AttentionHere& at) {
  const bool masked = op.impl == Impl::kMasked;
  if (at.attention.is_latent()) return set_latent(op, at);
  const std::int64_t tokens = tokens_of(at), q = at.widths[Width::kQ];
  op.set(AttentionSizes{.batch = at.shape.micro_batch,
                        .heads = heads(at),
                        .kv_heads = masked ? heads(at) : kv_heads_of(at.attention, at.shape.tp),
                        .seq = at.shape.seq,
                        .head_dim = at.attention.head_dim,
                        .causal = masked ? 0 : causal(at, 1)});
  return {.inputs = static_cast<double>(tokens * (masked ? 3 * q : at.widths[Width::kQkv])),
          .outputs = static_cast<double>(tokens * q),
          .stats = statistics(at)};
}

Amounts set_score_product(Operator& op, const AttentionHere& at, bool makes_scores) {
  const std::int64_t batch = at.shape.micro_batch * heads(at), seq = at.shape.seq;
  const std::int64_t head_dim = at.attention.head_dim, tokens = tokens_of(at);
  op.set(BatchedSizes{
      .batch = batch, .m = seq, .k = makes_scores ? head_dim : seq, .n = makes_scores ? seq : head_dim});
  const double stats = 8.0 * static_cast<double>(tokens);
  if (makes_scores)
    return {.inputs = static_cast<double>(tokens * at.widths[Width::kQk]),
            .outputs = static_cast<double>(batch * seq * seq),
            .stats = stats};
  // The probabilities belong to the softmax or dropout before: the product keeps the values only.
  return {.inputs = static_cast<double>(tokens * at.widths[Width::kKv]),
          .outputs = static_cast<double>(tokens * at.widths[Width::kQ]),
          .stats = stats};
}

}  // namespace foretrain
