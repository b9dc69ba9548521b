// Reads the fields of a YAML map into a value, one line a field:
//   TRY(only_fields(node, "a model", {"hidden", "norm"}));
//   TRY(read_required(node, "hidden", model.hidden, 1, kMaxWidth));
//   TRY(read_optional(node, "norm", model.norm, kNormNames));
// An absent optional field leaves its target as it was, so defaults are set before reading. Errors begin with
// the field's name, because a plan given as an option has no position to point at.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/yaml.h"
#include "spec/choice.h"

namespace foretrain {

// Refuses what is not a map (`what` says of which thing) and keys not listed.
Result<void> only_fields(const Node& node, std::string_view what,
                         std::initializer_list<std::string_view> allowed);

// "missing key 'hidden'" at the map's place.
tl::unexpected<Error> missing(const Node& map, std::string_view key);

// The map under `key`, its keys checked; where it is optional and absent, an empty map.
Result<const Node*> required_section(const Node& map, std::string_view key,
                                     std::initializer_list<std::string_view> allowed);
Result<const Node*> optional_section(const Node& map, std::string_view key,
                                     std::initializer_list<std::string_view> allowed);

inline tl::unexpected<Error> named(std::string_view key, Error error) {
  error.message = std::string(key) + ": " + error.message;
  return tl::unexpected<Error>(std::move(error));
}

inline Result<void> read_value(const Node& node, std::int64_t& out, std::int64_t low, std::int64_t high) {
  TRY_ASSIGN(out, node.integer(low, high));
  return {};
}
inline Result<void> read_value(const Node& node, int& out, int low, int high) {
  TRY_ASSIGN(const std::int64_t value, node.integer(low, high));
  out = static_cast<int>(value);
  return {};
}
inline Result<void> read_value(const Node& node, double& out, double low, double high) {
  TRY_ASSIGN(out, node.number(low, high));
  return {};
}
inline Result<void> read_value(const Node& node, bool& out) {
  TRY_ASSIGN(out, node.boolean());
  return {};
}
inline Result<void> read_value(const Node& node, std::string& out) {
  TRY_ASSIGN(out, node.text());
  return {};
}
template <class E>
requires std::is_enum_v<E> Result<void> read_value(const Node& node, E& out,
                                                   std::span<const std::string_view> names) {
  TRY_ASSIGN(out, parse_choice<E>(node, names));
  return {};
}
template <class T, class... Limits>
Result<void> read_value(const Node& node, std::optional<T>& out, const Limits&... limits) {
  T value{};
  TRY(read_value(node, value, limits...));
  out = value;
  return {};
}

template <class T, class... Limits>
Result<void> read_optional(const Node& map, std::string_view key, T& out, const Limits&... limits) {
  const Node* field = map.find(key);
  if (field == nullptr) return {};
  if (auto read = read_value(*field, out, limits...); !read) return named(key, std::move(read).error());
  return {};
}

template <class T, class... Limits>
Result<void> read_required(const Node& map, std::string_view key, T& out, const Limits&... limits) {
  if (map.find(key) == nullptr) return missing(map, key);
  return read_optional(map, key, out, limits...);
}

// The way back: a string in YAML's double quotes, and a quantity in a file's unit, so that reading
// `text * unit` gives the same value again.
std::string yaml_quoted(std::string_view text);
std::string in_units_of(double unit, double value);

}  // namespace foretrain
