// Reads fields (field.h) from a YAML map into a value: a whole table of them,
//   TRY(only_fields(node, "a plan", keys_of(kPlanFields)));
//   TRY(read_fields(node, kPlanFields, plan));
// or, where a value has no table, a line a field:
//   TRY(read_required(node, "hidden", model.hidden, WholeNumber{1, kMaxWidth}));
//   TRY(read_optional(node, "norm", model.norm, OneOf{kNormNames}));
// An absent optional field leaves its target as it was, so defaults are set before reading. Errors begin with
// the field's name, because a plan given as an option has no position to point at.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/yaml.h"
#include "spec/choice.h"
#include "spec/field.h"

namespace foretrain {

// Refuses what is not a map (`what` says of which thing) and keys not listed.
Result<void> only_fields(const Node& node, std::string_view what, std::span<const std::string_view> allowed);
Result<void> only_fields(const Node& node, std::string_view what,
                         std::initializer_list<std::string_view> allowed);

// "missing key 'hidden'" at the map's place.
tl::unexpected<Error> missing(const Node& map, std::string_view key);

// The map under `key`, its keys checked; where it is optional and absent, an empty map.
Result<const Node*> required_section(const Node& map, std::string_view key,
                                     std::initializer_list<std::string_view> allowed);
Result<const Node*> optional_section(const Node& map, std::string_view key,
                                     std::initializer_list<std::string_view> allowed);
Result<const Node*> optional_section(const Node& map, std::string_view key,
                                     std::span<const std::string_view> allowed);

inline tl::unexpected<Error> named(std::string_view key, Error error) {
  error.message = std::string(key) + ": " + error.message;
  return tl::unexpected<Error>(std::move(error));
}

inline Result<void> read_value(const Node& node, std::int64_t& out, const WholeNumber& kind) {
  TRY_ASSIGN(out, node.integer(kind.low, kind.high));
  return {};
}
inline Result<void> read_value(const Node& node, int& out, const WholeNumber& kind) {
  TRY_ASSIGN(const std::int64_t value, node.integer(kind.low, kind.high));
  out = static_cast<int>(value);
  return {};
}
inline Result<void> read_value(const Node& node, double& out, const RealNumber& kind) {
  TRY_ASSIGN(out, node.number(kind.low, kind.high));
  return {};
}
inline Result<void> read_value(const Node& node, bool& out, const Flag&) {
  TRY_ASSIGN(out, node.boolean());
  return {};
}
inline Result<void> read_value(const Node& node, std::string& out, const FreeText&) {
  TRY_ASSIGN(out, node.text());
  return {};
}
template <class E>
requires std::is_enum_v<E> Result<void> read_value(const Node& node, E& out, const OneOf& kind) {
  TRY_ASSIGN(out, parse_choice<E>(node, kind.names));
  return {};
}
template <class T, class Kind>
Result<void> read_value(const Node& node, std::optional<T>& out, const Kind& kind) {
  T value{};
  TRY(read_value(node, value, kind));
  out = value;
  return {};
}
template <class T, class Kind>
Result<void> read_value(const Node& node, std::array<T, 2>& out, const Kind& kind) {
  if (!node.is_list() || node.items.size() != 2)
    return fail(std::is_enum_v<T> ? "expected a list of two words, [forward, backward]"
                                  : "expected a list of two counts, [forward, backward]",
                node.at);
  TRY(read_value(node.items[0], out[0], kind));
  return read_value(node.items[1], out[1], kind);
}

// A flag or a text needs no more words.
template <class T>
using UsualKind = std::conditional_t<std::is_same_v<T, bool>, Flag, FreeText>;

template <class T, class Kind = UsualKind<T>>
Result<void> read_optional(const Node& map, std::string_view key, T& out, const Kind& kind = {}) {
  const Node* field = map.find(key);
  if (field == nullptr) return {};
  if (auto read = read_value(*field, out, kind); !read) return named(key, std::move(read).error());
  return {};
}

template <class T, class Kind = UsualKind<T>>
Result<void> read_required(const Node& map, std::string_view key, T& out, const Kind& kind = {}) {
  if (map.find(key) == nullptr) return missing(map, key);
  return read_optional(map, key, out, kind);
}

// Every field of the table that the map has.
template <class Owner, class... Fields>
Result<void> read_fields(const Node& map, const std::tuple<Fields...>& table, Owner& owner) {
  Result<void> result;
  for_each_field(table, [&](const auto& f) {
    if (result) result = read_optional(map, f.key, owner.*f.member, f.kind);
  });
  return result;
}

}  // namespace foretrain
