// A model in a format of others, told by its content. Today that is Hugging Face's config.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "formats/hf_config.h"

namespace foretrain {

// None: the text is not of such a format, and so may be a model file of ours.
Result<std::optional<HfModel>> read_foreign_model(const std::string& text, const std::string& file);

// The same as the map that a model file would hold, for a catalog (spec/catalog.h).
Result<std::optional<Node>> foreign_model(const std::string& text, const std::string& file);

// What a model is called whose file does not say: "models--org--name/snapshots/hash/config.json" is org/name,
// "llama-3-8b/config.json" llama-3-8b, "tiny.json" tiny.
std::string model_name(std::string_view path);

}  // namespace foretrain
