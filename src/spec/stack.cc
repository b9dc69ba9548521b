#include "spec/stack.h"

#include <algorithm>

namespace foretrain {

bool has_dispatcher(const Stack& stack, Dispatcher dispatcher) {
  const auto i = static_cast<std::size_t>(dispatcher);
  const Stack::Parts& parts = stack.parts;
  return !parts.dispatch[i].empty() || !parts.arrive[i].empty() || !parts.depart[i].empty() ||
         !parts.combine[i].empty();
}

bool has_dropout(const Stack& stack) {
  const auto drops = [](const Part& part) {
    return std::any_of(part.begin(), part.end(),
                       [](const PartOperator& op) { return op.when == Condition::kDropout; });
  };
  const auto any = [&](const auto& variants) { return std::any_of(variants.begin(), variants.end(), drops); };
  return drops(stack.parts.embedding) || any(stack.parts.norm) || drops(stack.parts.qkv) ||
         drops(stack.parts.rope) || any(stack.parts.attention) || drops(stack.parts.projection) ||
         any(stack.parts.mlp) || any(stack.parts.experts) || any(stack.parts.combine) ||
         any(stack.parts.residual) || drops(stack.parts.head) || drops(stack.parts.loss);
}

}  // namespace foretrain
