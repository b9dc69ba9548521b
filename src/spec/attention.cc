#include "spec/attention.h"

namespace foretrain {
namespace {

std::int64_t latent_parameters(const Attention& a, std::int64_t hidden) {
  const std::int64_t queries =
      a.q_rank > 0 ? hidden * a.q_rank + a.q_rank + a.q_rank * a.q_width() : hidden * a.q_width();
  const std::int64_t down = hidden * (a.kv_rank + a.rope_dim) + a.kv_rank;  // with the norm of the latent
  return queries + down + a.kv_rank * a.heads * (a.nope_dim + a.v_dim);
}

std::int64_t qk_norm_parameters(const Attention& a, bool biases) {
  const std::int64_t tensors = biases ? 2 : 1;
  switch (a.qk_norm) {
    case QkNorm::kNone:
      return 0;
    case QkNorm::kHead:
      return tensors * 2 * a.head_dim;
    case QkNorm::kOwnHead:
      return a.q_width() + a.kv_width();
    case QkNorm::kWhole:
      return tensors * (a.q_width() + a.kv_width());
  }
  return 0;
}

}  // namespace

std::int64_t attention_parameters(const Attention& a, std::int64_t hidden, const AttentionBiases& biases) {
  const std::int64_t qkv = a.q_width() + 2 * a.kv_width();
  std::int64_t count = a.is_latent() ? latent_parameters(a, hidden) : hidden * qkv;
  count += a.out_width() * hidden;
  if (biases.qkv) count += a.is_latent() ? a.q_rank + a.kv_rank + a.rope_dim : qkv;
  if (biases.projection) count += hidden;
  count += qk_norm_parameters(a, biases.norm);
  return count + (a.sinks ? a.heads : 0);
}

}  // namespace foretrain
