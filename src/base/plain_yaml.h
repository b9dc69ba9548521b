// The plain part of YAML, read fast: block maps and lists, flow maps and lists, scalars of one line, comments. It is
// what presets and most runs are written in, and takes a thirtieth of the library's time. Everything else (escapes, values
// that are missing or go over lines, anchors, tags, documents, odd indentation, every mistake) is left to the library,
// which alone says what is wrong: a text that is read here gives the tree that the library gives, place by place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/yaml.h"

namespace foretrain {

// Absent where the text, which is UTF-8 without control characters, is not plain.
std::optional<Node> read_plain_yaml(std::string_view text, const std::string& file_name);

// By the library, whatever the text; parse_yaml asks for it where the text is not plain.
Result<Node> parse_yaml_by_library(std::string_view text, const std::string& file_name);

}  // namespace foretrain
