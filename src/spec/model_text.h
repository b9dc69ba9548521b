// A model's file (docs/formats/model.md), read and written.
#pragma once

#include <string>
#include <vector>

#include "base/yaml.h"
#include "spec/model.h"

namespace foretrain {

Result<Model> parse_model(const Node& node);

std::string to_yaml(const Model& model);

}  // namespace foretrain
