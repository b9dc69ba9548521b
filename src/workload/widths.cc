#include "workload/widths.h"

#include <algorithm>

namespace foretrain {
namespace {

void add_widths(const Attention& attention, std::int64_t tp, Widths& widths) {
  const std::int64_t q = attention.q_width() / tp;
  const std::int64_t kv = kv_heads_of(attention, tp) * attention.head_dim;
  widths.set(Width::kQ, q);
  widths.set(Width::kKv, kv);
  widths.set(Width::kQk, q + kv);
  widths.set(Width::kQkv, q + 2 * kv);
}

void add_widths(const FeedForward& feed_forward, std::int64_t tp, Widths& widths) {
  widths.set(Width::kFfn, feed_forward.ffn / tp);
  widths.set(Width::kGateUp, feed_forward.up_width(feed_forward.ffn) / tp);
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

Widths widths_of(const Model& model, const Stack& stack, const Block& block, std::int64_t tp,
                 std::int64_t seq) {
  Widths widths;
  widths.set(Width::kHidden, model.hidden);
  widths.set(Width::kVocab, padded_vocab(model, stack, tp) / tp);
  widths.set(Width::kScores, seq);
  add_widths(block.attention, tp, widths);
  add_widths(block.feed_forward, tp, widths);
  return widths;
}

}  // namespace foretrain
