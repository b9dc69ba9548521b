// JSON read into the same tree of Nodes as YAML (yaml.h), with positions: what its readers know of kinds, bounds and errors
// holds for both. Strings, numbers, true and false become scalars as they are written, null a null. As Python writes them,
// NaN and Infinity are scalars too. Duplicate keys, text over max_bytes, more than kMaxYamlNodes keys and values, nesting
// over kMaxYamlDepth and text after the document are refused.
#pragma once

#include <string>
#include <string_view>

#include "base/yaml.h"

namespace foretrain {

Result<Node> parse_json(std::string_view text, std::string file_name, std::size_t max_bytes = kMaxYamlBytes);

// Whether a text is an object or a list of JSON rather than YAML: its first sign says so.
bool looks_like_json(std::string_view text);

}  // namespace foretrain
