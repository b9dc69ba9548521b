#include "workload/widths.h"

#include <algorithm>

namespace foretrain {
namespace {

void add_widths(const Attention& a, std::int64_t tp, Widths& widths) {
  const std::int64_t q = a.q_width() / tp, kv = kv_heads_of(a, tp) * a.head_dim;
  widths.set(Width::kQ, q);
  widths.set(Width::kKv, kv);
  widths.set(Width::kQk, q + kv);
  widths.set(Width::kQkv, q + 2 * kv);
  widths.set(Width::kAttended, a.out_width() / tp);
  if (!a.is_latent()) return;
  const std::int64_t heads = heads_of(a, tp);
  widths.set(Width::kQRank, a.q_rank);
  widths.set(Width::kKvRank, a.kv_rank);
  widths.set(Width::kKvDown, a.kv_rank + a.rope_dim);
  widths.set(Width::kKvUp, heads * (a.nope_dim + a.v_dim));
  widths.set(Width::kQRope, heads * a.rope_dim);
  widths.set(Width::kKRope, a.rope_dim);
}

void add_widths(const FeedForward& f, const WeightRanks& ranks, Widths& widths) {
  widths.set_ffn(f, f.ffn, ranks.tp);
  widths.set(Width::kExperts, f.experts);
  widths.set(Width::kExpertFfn, f.expert_ffn / ranks.etp);
  widths.set(Width::kExpertGateUp, f.up_width(f.expert_ffn) / ranks.etp);
}

}  // namespace

std::int64_t heads_of(const Attention& attention, std::int64_t tp) {
  return std::max<std::int64_t>(attention.heads / tp, 1);
}

std::int64_t kv_heads_of(const Attention& attention, std::int64_t tp) {
  return std::max<std::int64_t>(attention.kv_heads / tp, 1);
}

std::int64_t padded_vocab(const Model& model, const Stack& stack, std::int64_t tp) {
  const std::int64_t multiple = stack.tensor_parallel.vocab_multiple * tp;
  return (model.vocab + multiple - 1) / multiple * multiple;
}

void Widths::set_ffn(const FeedForward& f, std::int64_t ffn, std::int64_t tp) {
  set(Width::kFfn, ffn / tp);
  set(Width::kGateUp, f.up_width(ffn) / tp);
}

Widths widths_of(const Model& model, const Stack& stack, const Block& block, const WeightRanks& ranks,
                 std::int64_t seq) {
  const std::int64_t tp = ranks.tp;
  Widths widths;
  widths.set(Width::kHidden, model.hidden);
  widths.set(Width::kVocab, padded_vocab(model, stack, tp) / tp);
  widths.set(Width::kScores, seq);
  widths.set(Width::kOne, 1);
  widths.set(Width::kJoined, 2 * model.hidden);
  add_widths(block.attention, tp, widths);
  add_widths(block.feed_forward, ranks, widths);
  return widths;
}

}  // namespace foretrain
