#include "validate/row_stack.h"

#include <algorithm>

namespace foretrain {
namespace {

// As the catalog calls it; a word that it does not know stays.
std::string catalog_name(const Catalog& catalog, const std::string& word) {
  const auto meant = catalog.meant("stacks", word);
  return meant ? *meant : word;
}

bool has_note(const Notes& notes, const RowWords& words) {
  if (words.note.empty()) return true;
  if (words.holds.empty() && notes.has(words.note)) return true;
  const auto value = notes.find(words.note);
  return value && value->find(words.holds) != std::string_view::npos;
}

bool speaks_of(const RowWords& words, const std::string& stack, const MeasuredRow& row) {
  const auto any = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  return any(words.stacks, stack) && (words.zero.empty() || (row.zero && any(words.zero, *row.zero))) &&
         (!words.attention || row.attention == words.attention) && has_note(row.notes, words);
}

}  // namespace

StackNames::StackNames(const Catalog& catalog) : catalog_(catalog) {
  for (const std::string& name : catalog.names("stacks")) {
    const auto stated = catalog.text("stacks", name)
                            .and_then([&name](const std::string& text) { return parse_yaml(text, name); })
                            .and_then([](const Node& file) { return row_words_of(file); });
    if (!stated) continue;
    for (RowWords words : *stated) {
      for (std::string& stack : words.stacks) stack = catalog_name(catalog, stack);
      words_.emplace_back(name, std::move(words));
    }
  }
  std::stable_sort(words_.begin(), words_.end(), [](const auto& a, const auto& b) {
    return a.second.conditions() > b.second.conditions();
  });
}

std::vector<std::string> StackNames::named_by(const MeasuredRow& row) {
  std::vector<std::string> names;
  auto meant = meant_.find(row.stack);
  if (meant == meant_.end()) meant = meant_.emplace(row.stack, catalog_name(catalog_, row.stack)).first;
  for (const auto& [name, words] : words_)
    if (speaks_of(words, meant->second, row)) names.push_back(name);
  names.push_back(row.stack);
  return names;
}

}  // namespace foretrain
