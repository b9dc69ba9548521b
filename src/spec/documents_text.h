// Documents as text: 512 (the mean length of random ones), 4096+2048+2048 or 1024x8 (those that fill a
// sequence), in YAML a list too. Numbers may be words such as 4k.
#pragma once

#include <string>

#include "base/yaml.h"
#include "spec/documents.h"

namespace foretrain {

Result<Documents> parse_documents(const Node& node);
Result<Documents> parse_documents(const std::string& word);
std::string to_text(const Documents& documents);

}  // namespace foretrain
