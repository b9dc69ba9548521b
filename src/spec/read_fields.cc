#include "spec/read_fields.h"

#include <fmt/format.h>

namespace foretrain {

Result<void> only_fields(const Node& node, std::string_view what, std::span<const std::string_view> allowed) {
  if (!node.is_map()) return fail(fmt::format("expected a map that describes {}", what), node.at);
  return node.only_keys(allowed);
}

Result<void> only_fields(const Node& node, std::string_view what,
                         std::initializer_list<std::string_view> allowed) {
  return only_fields(node, what, std::span(allowed.begin(), allowed.size()));
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
  return optional_section(map, key, std::span(allowed.begin(), allowed.size()));
}

Result<const Node*> optional_section(const Node& map, std::string_view key,
                                     std::span<const std::string_view> allowed) {
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

}  // namespace foretrain
