#include "spec/stack_base.h"

#include <algorithm>
#include <array>

#include "spec/row_words.h"

namespace foretrain {
namespace {

constexpr std::array<std::string_view, 4> kOfAFile = {"name", "aliases", "base", kRowsKey};

bool is_of_a_file(std::string_view key) {
  return std::find(kOfAFile.begin(), kOfAFile.end(), key) != kOfAFile.end();
}

// Trees of a few hundred nodes, of which each is moved once.
Node merged(Node own, Node base) {
  if (!own.is_map() || !base.is_map()) return own;
  const std::size_t of_own = own.entries.size();
  for (std::size_t i = 0; i < base.entries.size(); ++i) {
    Node::Entry& below = base.entries[i];
    const auto end = own.entries.begin() + static_cast<std::ptrdiff_t>(of_own);
    const auto over = std::find_if(own.entries.begin(), end,
                                   [&](const Node::Entry& entry) { return entry.key == below.key; });
    if (over == end) {
      own.entries.push_back(std::move(below));
      own.key_at.push_back(std::move(base.key_at[i]));
    } else {
      over->value = merged(std::move(over->value), std::move(below.value));
    }
  }
  return own;
}

void leave_out(Node& map, const auto& leaves_out) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < map.entries.size(); ++i) {
    if (leaves_out(map.entries[i].key)) continue;
    if (kept != i) {
      map.entries[kept] = std::move(map.entries[i]);
      map.key_at[kept] = std::move(map.key_at[i]);
    }
    ++kept;
  }
  map.entries.resize(kept);
  map.key_at.resize(kept);
}

}  // namespace

Node over_base(Node own, Node base) {
  leave_out(own, [](std::string_view key) { return key == kBaseKey; });
  leave_out(base, is_of_a_file);
  return merged(std::move(own), std::move(base));
}

}  // namespace foretrain
