// Settings as the tree that they are the leaves of ("parallelism.tp": {parallelism: {tp: ...}}), in YAML and in JSON. A setting
// without words is true, one with several a list; numbers, true, false and null stand bare.
#pragma once

#include <string>

#include "formats/settings.h"

namespace foretrain {

std::string yaml_of(const Settings& settings);
std::string json_of(const Settings& settings);

}  // namespace foretrain
