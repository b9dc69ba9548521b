#include "spec/row_words.h"

#include <span>

#include "spec/read_fields.h"

namespace foretrain {
namespace {

// A value, or a list of at least one.
Result<std::span<const Node>> one_or_several(const Node& node) {
  if (!node.is_list()) return std::span<const Node>(&node, 1);
  if (node.items.empty()) return fail("found an empty list, expected at least one value", node.at);
  return std::span<const Node>(node.items);
}

Result<void> read_stacks(const Node& node, RowWords& words) {
  TRY_ASSIGN(const auto items, one_or_several(node));
  for (const Node& item : items) {
    TRY_ASSIGN(std::string name, item.text());
    if (name.empty()) return fail("found an empty text, expected a name", item.at);
    words.stacks.push_back(std::move(name));
  }
  return {};
}

Result<void> read_zero(const Node& node, RowWords& words) {
  TRY_ASSIGN(const auto items, one_or_several(node));
  for (const Node& item : items) {
    TRY_ASSIGN(const std::int64_t level, item.integer(0, 3));
    words.zero.push_back(level);
  }
  return {};
}

Result<RowWords> parse_words(const Node& node) {
  TRY(only_fields(node, "words of rows", {"stack", "zero", "attention", "note", "holds"}));
  RowWords words;
  const Node* stack = node.find("stack");
  if (stack == nullptr) return missing(node, "stack");
  if (auto read = read_stacks(*stack, words); !read) return named("stack", std::move(read).error());
  if (const Node* zero = node.find("zero"))
    if (auto read = read_zero(*zero, words); !read) return named("zero", std::move(read).error());
  TRY(read_optional(node, "attention", words.attention, OneOf{kAttentionNames}));
  TRY(read_optional(node, "note", words.note));
  TRY(read_optional(node, "holds", words.holds));
  if (!words.holds.empty() && words.note.empty()) return missing(node, "note");
  if (words.conditions() == 0)
    return fail("found a stack alone, expected what tells its rows apart (zero, attention or note)", node.at);
  return words;
}

}  // namespace

Result<std::vector<RowWords>> row_words_of(const Node& file) {
  std::vector<RowWords> all;
  const Node* list = file.is_map() ? file.find(kRowsKey) : nullptr;
  if (list == nullptr) return all;
  if (!list->is_list()) return named(kRowsKey, Error{"expected a list of maps", list->at});
  for (const Node& item : list->items) {
    auto words = parse_words(item);
    if (!words) return named(kRowsKey, std::move(words).error());
    all.push_back(*std::move(words));
  }
  return all;
}

Result<std::optional<ClusterWords>> cluster_words_of(const Node& file) {
  if (!file.is_map() || file.find(kRowsKey) == nullptr) return std::nullopt;
  TRY_ASSIGN(const Node* map, required_section(file, kRowsKey, {"cluster", "stack"}));
  ClusterWords words;
  TRY(read_required(*map, "cluster", words.cluster));
  TRY(read_required(*map, "stack", words.stack));
  return words;
}

}  // namespace foretrain
