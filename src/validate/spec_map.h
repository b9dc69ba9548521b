// The map that a file of a model or a plan would hold, filled from the columns and notes of a measured row, so
// that a row is read by the readers of spec and obeys the rules that a file does.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/yaml.h"
#include "validate/measured_row.h"

namespace foretrain {

class SpecMap {
 public:
  SpecMap() { map_.kind = Node::Kind::kMap; }

  bool has(std::string_view key) const { return map_.find(key) != nullptr; }

  void put(std::string_view key, std::string_view word) {
    Node value;
    value.kind = Node::Kind::kScalar;
    value.scalar = word;
    map_.entries.emplace_back(std::string(key), std::move(value));
    map_.key_at.emplace_back();
  }
  void put(std::string_view key, std::int64_t count) { put(key, std::string_view(std::to_string(count))); }
  void put(std::string_view key, std::optional<std::int64_t> count) {
    if (count) put(key, *count);
  }
  void put_flag(std::string_view key, bool flag) { put(key, std::string_view(flag ? "true" : "false")); }
  template <class E, std::size_t n>
  void put(std::string_view key, std::optional<E> choice, const std::array<std::string_view, n>& names) {
    if (choice) put(key, names[static_cast<std::size_t>(*choice)]);
  }
  void put_note(std::string_view key, const MeasuredRow& row, std::string_view note) {
    if (const auto value = row.notes.find(note)) put(key, *value);
  }

  const Node& node() const { return map_; }

 private:
  Node map_;
};

}  // namespace foretrain
