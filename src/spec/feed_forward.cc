#include "spec/feed_forward.h"

namespace foretrain {

ParameterCount feed_forward_parameters(const FeedForward& f, std::int64_t hidden, bool biases) {
  const auto mlp = [&](std::int64_t width) {
    const std::int64_t up = f.up_width(width);
    return hidden * up + width * hidden + (biases ? up + hidden : 0);
  };
  if (!f.has_experts()) {
    const std::int64_t all = mlp(f.ffn) + (f.trained_activation ? 2 : 0);
    return {all, all};
  }
  std::int64_t common = hidden * f.experts + (biases ? f.experts : 0);  // the router
  if (f.shared_ffn > 0) common += mlp(f.shared_ffn);
  if (f.shared_gate) common += hidden;
  if (f.balancing_bias) common += f.experts;
  return {common + f.experts * mlp(f.expert_ffn), common + f.top_k * mlp(f.expert_ffn)};
}

}  // namespace foretrain
