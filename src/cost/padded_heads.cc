#include "cost/padded_heads.h"

#include "operators/attention.h"
#include "operators/pointwise.h"

namespace foretrain {
namespace {

constexpr double kPadded = 1.5, kCut = 2;

// Of queries, keys and values, as many elements as attention makes.
double made_share(const Operator& op) {
  if (op.kind == OperatorKind::kLatentAttention) {
    const auto s = op.as<LatentAttentionSizes>();
    return static_cast<double>(s.v_dim) / static_cast<double>(2 * s.qk_dim + s.v_dim);
  }
  const auto s = op.as<AttentionSizes>();
  return static_cast<double>(s.heads) / static_cast<double>(s.heads + 2 * s.kv_heads);
}

}  // namespace

Operator padding_copy(const Operator& op) {
  const auto copy = [&](std::int64_t tokens, std::int64_t width) {
    return pointwise(OperatorKind::kCopy, {.tokens = tokens, .width = width},
                     {.dtype = op.dtype, .launches = 3});
  };
  if (op.kind == OperatorKind::kLatentAttention) {
    const auto s = op.as<LatentAttentionSizes>();
    return copy(s.batch * s.seq, s.heads * (2 * s.qk_dim + s.v_dim));
  }
  const auto s = op.as<AttentionSizes>();
  return copy(s.batch * s.seq, (s.heads + 2 * s.kv_heads) * s.head_dim);
}

double padding_copies(const Operator& op) {
  return is_forward(op) ? kPadded : kCut + kPadded * made_share(op);
}

}  // namespace foretrain
