// A config.json whose family is known, as a map of a model file: sizes, norms, positions, attention, experts, layer by layer,
// each by the file's own key or as the family's class has it, and what was assumed on the way.
#pragma once

#include <string_view>

#include "formats/family.h"
#include "formats/hf_config.h"

namespace foretrain {

// `text` is the part of `wrapper` that reads text, or the same node. `name`: what the model is called where no file says.
Result<HfModel> translate_config(const Node& wrapper, const Node& text, const Family& family,
                                 std::string_view name);

}  // namespace foretrain
