// A model's file (docs/formats/model.md), read and written.
#pragma once

#include <string>
#include <vector>

#include "base/yaml.h"
#include "spec/model.h"

namespace foretrain {

Result<Model> parse_model(const Node& node);

// Further names that the file states for a catalog; they are no part of the model.
Result<std::vector<std::string>> aliases_of(const Node& model);

std::string to_yaml(const Model& model);

}  // namespace foretrain
