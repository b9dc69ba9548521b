// YAML at the border: text becomes a small tree of Nodes with positions, and nothing else of the YAML
// library is seen outside yaml.cc. The subset is plain data: maps, lists and scalars. Anchors, aliases and
// tags are refused (an alias bomb cannot unfold), and so are duplicate keys, several documents, text over
// 1 MiB, more than kMaxYamlNodes keys and values, nesting over kMaxYamlDepth, control characters, and a
// document that holds nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretrain {

struct Node {
  struct Entry;
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string scalar;
  std::vector<Node> items;     // of a list
  std::vector<Entry> entries;  // of a map, in file order
  Position at;
  std::vector<Position> key_at;  // of a map: where each key stands

  const Node* find(std::string_view key) const;  // null where absent

  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_scalar() const { return kind == Kind::kScalar; }

  // Typed readings; the error names the position, what was found and what was expected.
  Result<std::string> text() const;
  Result<std::int64_t> integer(std::int64_t low, std::int64_t high) const;
  Result<double> number(double low, double high) const;
  Result<bool> boolean() const;  // true, false, 1, 0, yes, no, on, off

  // Refuses keys not listed, naming the nearest that is.
  Result<void> only_keys(std::span<const std::string_view> allowed) const;
  Result<void> only_keys(std::initializer_list<std::string_view> allowed) const {
    return only_keys(std::span(allowed.begin(), allowed.size()));
  }
};

struct Node::Entry {
  std::string key;
  Node value;
};

inline constexpr std::size_t kMaxYamlBytes = 1 << 20;
inline constexpr std::size_t kMaxYamlNodes = 100'000;
inline constexpr int kMaxYamlDepth = 32;

Result<Node> parse_yaml(std::string_view text, std::string file_name);

}  // namespace foretrain
