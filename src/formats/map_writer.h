// Writes a map that a reader of spec takes, key by key, so that what comes from another format obeys the rules that our own
// files do. Each value may have the place that it was read from, and errors point there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/yaml.h"

namespace foretrain {

class MapWriter {
 public:
  explicit MapWriter(Position at = {}) {
    map_.kind = Node::Kind::kMap;
    map_.at = std::move(at);
  }

  bool has(std::string_view key) const { return map_.find(key) != nullptr; }

  void put(std::string_view key, Node value) {
    map_.key_at.push_back(value.at);
    map_.entries.emplace_back(std::string(key), std::move(value));
  }
  void put(std::string_view key, std::string_view word) { put(key, scalar(word)); }
  void put(std::string_view key, const char* word) { put(key, std::string_view(word)); }
  void put(std::string_view key, std::int64_t count) { put(key, std::string_view(std::to_string(count))); }
  void put_flag(std::string_view key, bool flag) { put(key, std::string_view(flag ? "true" : "false")); }

  Node scalar(std::string_view word) const {
    Node node;
    node.kind = Node::Kind::kScalar;
    node.scalar = word;
    node.at = map_.at;
    return node;
  }

  const Node& node() const { return map_; }
  Node take() { return std::move(map_); }

 private:
  Node map_;
};

}  // namespace foretrain
