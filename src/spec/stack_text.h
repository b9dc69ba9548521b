// A stack's file (docs/formats/stack.md). An operator of a part is written as
//   {op: linear, in: hidden, out: qkv, launches: [1, 1, 1], saves: [input]}
#pragma once

#include <functional>

#include "base/yaml.h"
#include "spec/stack.h"

namespace foretrain {

// Recipes that it names are read by `recipe`; without it, bf16 and fp16 are known.
using RecipeReader = std::function<Result<Recipe>(const Node&)>;
Result<Stack> parse_stack_with(const RecipeReader& recipe, const Node& node);
inline Result<Stack> parse_stack(const Node& node) { return parse_stack_with({}, node); }

}  // namespace foretrain
