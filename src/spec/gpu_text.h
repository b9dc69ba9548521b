// A GPU's file (docs/formats/gpu.md), read and written.
#pragma once

#include <string>

#include "base/yaml.h"
#include "spec/gpu.h"

namespace foretrain {

Result<Gpu> parse_gpu(const Node& node);
std::string to_yaml(const Gpu& gpu);

}  // namespace foretrain
