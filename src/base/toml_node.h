// TOML read into the same tree of Nodes as YAML and JSON, with positions. toml++ stays inside toml_node.cc.
#pragma once

#include <string>
#include <string_view>

#include "base/yaml.h"

namespace foretrain {

Result<Node> parse_toml(std::string_view text, std::string file_name);

}  // namespace foretrain
