#include "spec/stack_base.h"

#include <algorithm>
#include <array>

namespace foretrain {
namespace {

constexpr std::array<std::string_view, 3> kOfAFile = {"name", "aliases", "base"};

bool is_of_a_file(std::string_view key) {
  return std::find(kOfAFile.begin(), kOfAFile.end(), key) != kOfAFile.end();
}

void put(Node& map, const std::string& key, const Position& key_at, Node value) {
  map.entries.push_back({key, std::move(value)});
  map.key_at.push_back(key_at);
}

Node merged(const Node& own, const Node& base) {
  if (!own.is_map() || !base.is_map()) return own;
  Node out = own;
  out.entries.clear();
  out.key_at.clear();
  for (std::size_t i = 0; i < own.entries.size(); ++i) {
    const auto& [key, value] = own.entries[i];
    const Node* below = base.find(key);
    put(out, key, own.key_at[i], below == nullptr ? value : merged(value, *below));
  }
  for (std::size_t i = 0; i < base.entries.size(); ++i)
    if (const auto& [key, value] = base.entries[i]; own.find(key) == nullptr)
      put(out, key, base.key_at[i], value);
  return out;
}

}  // namespace

Node over_base(const Node& own, const Node& base) {
  const auto without = [](const Node& map, const auto& leaves_out) {
    Node rest = map;
    rest.entries.clear();
    rest.key_at.clear();
    for (std::size_t i = 0; i < map.entries.size(); ++i)
      if (!leaves_out(map.entries[i].key)) put(rest, map.entries[i].key, map.key_at[i], map.entries[i].value);
    return rest;
  };
  return merged(without(own, [](std::string_view key) { return key == kBaseKey; }),
                without(base, is_of_a_file));
}

}  // namespace foretrain
