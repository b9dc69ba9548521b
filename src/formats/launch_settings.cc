#include "formats/launch_settings.h"

#include <algorithm>

#include "base/text.h"

namespace foretrain {
namespace {

// "2 4": two words.
std::vector<std::string> words_of(std::string_view value) {
  std::vector<std::string> words;
  for (const std::string_view word : split(value, ' '))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

// Their word for a value: the first that is still written.
std::string_view their_word(std::string_view list, std::string_view value) {
  for (const std::string_view pair : split(list, ',')) {
    const std::size_t colon = pair.rfind(':');
    if (!pair.starts_with('<') && pair.substr(colon + 1) == value) return pair.substr(0, colon);
  }
  return {};
}

void write_truth(const KeyRow& row, std::size_t equals, Statements& statements, Form form, Settings& out) {
  const std::string_view key = row.ours.substr(0, equals), values = row.ours.substr(equals + 1);
  const std::size_t bar = values.find('|');
  const std::string_view yes = values.substr(0, bar);
  const std::string_view no = bar != std::string_view::npos ? values.substr(bar + 1)
                              : yes == "true"               ? "false"
                                                            : std::string_view();
  if (!statements.has(key)) return;
  const std::string value = statements.value(key);
  if (value != yes && (no.empty() || value != no)) return;
  statements.take(key);
  if (value == yes)
    out.push_back({std::string(row.theirs), {}, {}});
  else if (form == Form::kValues)
    out.push_back({std::string(row.theirs), {"false"}, {}});
}

}  // namespace

void Statements::add(std::string_view key, std::string_view value, bool own) {
  if (Statement* old = find(key)) {
    *old = {std::string(key), std::string(value), own};
    return;
  }
  all_.push_back({std::string(key), std::string(value), own});
}

Statements::Statement* Statements::find(std::string_view key) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Statement& s) { return s.key == key; });
  return found == all_.end() ? nullptr : &*found;
}
const Statements::Statement* Statements::find(std::string_view key) const {
  return const_cast<Statements*>(this)->find(key);
}

bool Statements::has(std::string_view key) const {
  const Statement* found = find(key);
  return found != nullptr && !found->made;
}

std::string Statements::value(std::string_view key) const {
  return has(key) ? find(key)->value : std::string();
}

std::string Statements::take(std::string_view key) {
  std::string value = this->value(key);
  if (Statement* found = find(key)) found->made = true;
  return value;
}

void Statements::accept(std::string_view key, std::string_view value) {
  if (is(key, value)) take(key);
}

std::vector<Statements::Statement> Statements::left() const {
  std::vector<Statement> out;
  std::copy_if(all_.begin(), all_.end(), std::back_inserter(out),
               [](const Statement& s) { return !s.made && !s.own; });
  return out;
}

Settings settings_of(std::span<const KeyRow> rows, Statements& statements, Form form) {
  Settings out;
  for (const KeyRow& row : rows) {
    if (row.use != KeyUse::kBoth) continue;
    if (const std::size_t brace = row.ours.find('{'); brace != std::string_view::npos) {
      const std::string_view key = row.ours.substr(0, brace);
      const std::string_view list = row.ours.substr(brace + 1, row.ours.size() - brace - 2);
      if (!statements.has(key)) continue;
      const std::string_view word = their_word(list, statements.value(key));
      if (word.empty()) continue;
      statements.take(key);
      out.push_back({std::string(row.theirs), {std::string(word)}, {}});
    } else if (const std::size_t equals = row.ours.find('='); equals != std::string_view::npos) {
      write_truth(row, equals, statements, form, out);
    } else if (statements.has(row.ours)) {
      out.push_back({std::string(row.theirs), words_of(statements.take(row.ours)), {}});
    }
  }
  return out;
}

}  // namespace foretrain
