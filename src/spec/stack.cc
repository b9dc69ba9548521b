#include "spec/stack.h"

#include <algorithm>

namespace foretrain {

bool has_dispatcher(const Stack& stack, Dispatcher dispatcher) {
  const auto i = static_cast<std::size_t>(dispatcher);
  const Stack::Parts& parts = stack.parts;
  return !parts.dispatch[i].empty() || !parts.arrive[i].empty() || !parts.depart[i].empty() ||
         !parts.combine[i].empty();
}

bool has_condition(const Stack& stack, Condition when) {
  const auto asks = [&](const Part& part) {
    return std::any_of(part.begin(), part.end(), [&](const PartOperator& op) { return op.when == when; });
  };
  const auto any = [&](const auto& variants) { return std::any_of(variants.begin(), variants.end(), asks); };
  const Stack::Parts& parts = stack.parts;
  return asks(parts.embedding) || any(parts.norm) || asks(parts.qkv) || asks(parts.rope) ||
         any(parts.attention) || asks(parts.projection) || any(parts.mlp) || asks(parts.latent_down) ||
         asks(parts.latent_up) || asks(parts.router) || any(parts.dispatch) || any(parts.arrive) ||
         any(parts.experts) || any(parts.depart) || any(parts.combine) || any(parts.experts_loop) ||
         asks(parts.shared) || any(parts.residual) || asks(parts.mtp) || asks(parts.head) || asks(parts.loss);
}

bool has_dropout(const Stack& stack) { return has_condition(stack, Condition::kDropout); }

}  // namespace foretrain
