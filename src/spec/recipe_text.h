// A recipe's file (docs/formats/recipe.md).
#pragma once

#include "base/yaml.h"
#include "spec/recipe.h"
#include "spec/recipe_fields.h"

namespace foretrain {

Result<Recipe> parse_recipe(const Node& node);

// "1-1"
Result<void> read_value(const Node& node, LayerEnds& out, const EndsText& kind);
std::string to_text(const LayerEnds& ends);

}  // namespace foretrain
