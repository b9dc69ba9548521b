// A field of a value, said once: its key in files, the member, what it may hold, a line of words. A table is
// a tuple of fields (plan_fields.h, stack_fields.h), and whatever deals with all fields of a value walks it:
//   constexpr auto kLinkFields = std::tuple{
//       field("lanes", &Link::lanes, WholeNumber{1, 16}, "wires each way"),
//       field("medium", &Link::medium, OneOf{kMediumNames}, "what it is made of"),
//   };
//   for_each_field(kLinkFields, [&](const auto& f) { fmt::print("{} {}\n", f.key, text(link.*f.member)); });
// The reader (read_fields.h) and its refusal of unknown keys, text, JSON, the search's dimensions and the
// tables in docs/formats follow from it. Visitors are templates: keep them in .cc files.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace foretrain {

// What a field may hold. A member may be an optional of it, or an array of two: forward and backward.
struct WholeNumber {
  std::int64_t low = 0, high = 0;
};
struct RealNumber {
  double low = 0, high = 0;
};
struct Flag {};
struct OneOf {
  std::span<const std::string_view> names;  // by the enum's number
};
struct FreeText {};

template <class Owner, class T, class Kind>
struct Field {
  using Value = T;
  std::string_view key;
  T Owner::*member;
  Kind kind;
  std::string_view words;    // for people, one line
  std::string_view usual;    // the default in words, where the member's own initial value does not say it
  std::string_view besides;  // what else binds it, beside its kind
};

template <class Owner, class T, class Kind>
constexpr Field<Owner, T, Kind> field(std::string_view key, T Owner::*member, Kind kind,
                                      std::string_view words, std::string_view usual = {},
                                      std::string_view besides = {}) {
  return {key, member, kind, words, usual, besides};
}

template <class... Fields, class Visitor>
constexpr void for_each_field(const std::tuple<Fields...>& table, Visitor&& visit) {
  std::apply([&](const Fields&... fields) { (visit(fields), ...); }, table);
}

// The keys in the table's order.
template <class... Fields>
std::vector<std::string_view> keys_of(const std::tuple<Fields...>& table) {
  std::vector<std::string_view> keys;
  for_each_field(table, [&](const auto& f) { keys.push_back(f.key); });
  return keys;
}

// The index of a member in its table; one that is not there does not compile.
template <auto kMember, class... Fields>
consteval std::size_t index_of(const std::tuple<Fields...>& table) {
  std::size_t index = 0, found = sizeof...(Fields);
  for_each_field(table, [&](const auto& f) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(f.member)>,
                                 std::remove_cv_t<decltype(kMember)>>)
      if (f.member == kMember) found = index;
    ++index;
  });
  if (found == sizeof...(Fields)) throw "the member has no field in the table";
  return found;
}

}  // namespace foretrain
