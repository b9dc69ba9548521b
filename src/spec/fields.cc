#include "spec/fields.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace foretrain {

Result<void> only_fields(const Node& node, std::string_view what,
                         std::initializer_list<std::string_view> allowed) {
  if (!node.is_map()) return fail(fmt::format("expected a map that describes {}", what), node.at);
  return node.only_keys(allowed);
}

tl::unexpected<Error> missing(const Node& map, std::string_view key) {
  return fail(fmt::format("missing key '{}'", key), map.at);
}

Result<const Node*> required_section(const Node& map, std::string_view key,
                                     std::initializer_list<std::string_view> allowed) {
  if (map.find(key) == nullptr) return missing(map, key);
  return optional_section(map, key, allowed);
}

Result<const Node*> optional_section(const Node& map, std::string_view key,
                                     std::initializer_list<std::string_view> allowed) {
  static const Node empty = [] {
    Node node;
    node.kind = Node::Kind::kMap;
    return node;
  }();
  const Node* section = map.find(key);
  if (section == nullptr) return &empty;
  TRY(only_fields(*section, key, allowed));
  return section;
}

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string in_units_of(double unit, double value) {
  // value / unit may miss the file's figure by its last bit; the shortest text that multiplies back to the
  // value is that figure.
  for (int digits = 1; digits < 17; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value / unit, digits);
    if (const auto number = parse_number(text); number && *number * unit == value) return text;
  }
  return fmt::format("{:.17g}", value / unit);
}

}  // namespace foretrain
