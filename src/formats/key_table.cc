#include "formats/key_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace foretrain {
namespace {

bool matches(std::string_view row, std::string_view key) {
  const bool open_front = row.starts_with('*'), open_end = row.ends_with('*');
  if (open_front) row.remove_prefix(1);
  if (open_end) row.remove_suffix(1);
  if (open_front && open_end) return key.find(row) != std::string_view::npos;
  if (open_front) return key.ends_with(row);
  return open_end ? key.starts_with(row) : row == key;
}

bool is_nothing(const KeySetting& setting) {
  const std::string value = setting.value();
  return !setting.words.empty() && (value.empty() || value == "None" || value == "null" || value == "none");
}

void apply_words(std::string_view ours, const KeySetting& setting, Facts& facts) {
  const std::size_t brace = ours.find('{');
  const std::string_view list = ours.substr(brace + 1, ours.size() - brace - 2);
  for (std::string_view pair : split(list, ',')) {
    if (pair.starts_with('<')) pair.remove_prefix(1);
    const std::size_t colon = pair.rfind(':');
    if (pair.substr(0, colon) != setting.value()) continue;
    if (colon + 1 < pair.size())
      facts.set(ours.substr(0, brace), pair.substr(colon + 1), setting.key, setting.at);
    return;
  }
  if (is_nothing(setting)) return;
  facts.assume(
      fmt::format("{} {} is not understood and left out", printable(setting.key), quoted(setting.value())));
}

void apply(std::string_view ours, const KeySetting& setting, Facts& facts) {
  if (ours.empty()) return;
  const std::optional<bool> truth = truth_of(setting);
  if (ours.starts_with('!')) {
    if (truth != false && !is_nothing(setting)) facts.not_modelled.emplace_back(setting.key, ours.substr(1));
    return;
  }
  if (ours.starts_with('?')) {
    if (truth == false) facts.not_modelled.emplace_back(setting.key + " turned off", ours.substr(1));
    return;
  }
  if (ours.ends_with('}')) {
    apply_words(ours, setting, facts);  // "none" may be one of the words
    return;
  }
  const std::size_t equals = ours.find('=');
  if (equals == std::string_view::npos) {
    if (setting.open)
      facts.assume(fmt::format("{} is {}, which the file does not say: left out", printable(setting.key),
                               quoted(setting.value())));
    else if (!setting.words.empty() && !is_nothing(setting))
      facts.set(ours, setting.value(), setting.key, setting.at);
    return;
  }
  const std::string_view key = ours.substr(0, equals), values = ours.substr(equals + 1);
  if (setting.value() == "auto") {
    facts.assume(fmt::format("{}: auto in the file, so chosen", printable(setting.key)));
    return;
  }
  const std::size_t bar = values.find('|');
  if (truth.value_or(!is_nothing(setting)))
    facts.set(key, values.substr(0, bar), setting.key, setting.at);
  else if (bar != std::string_view::npos)
    facts.set(key, values.substr(bar + 1), setting.key, setting.at);
}

}  // namespace

std::optional<bool> truth_of(const KeySetting& setting) {
  if (setting.words.empty()) return true;
  const std::string value = setting.value();
  for (const std::string_view yes : {"true", "True", "yes", "on", "1"})
    if (value == yes) return true;
  for (const std::string_view no : {"false", "False", "no", "off", "0", "None", "null", ""})
    if (value == no) return false;
  return std::nullopt;
}

void apply_table(std::span<const KeyRow> rows, const Settings& settings, Facts& facts) {
  for (const KeySetting& setting : settings) {
    bool known = false;
    for (const KeyRow& row : rows)
      if (matches(row.theirs, setting.key)) apply(row.ours, setting, facts), known = true;
    const bool listed =
        std::find(facts.unknown.begin(), facts.unknown.end(), setting.key) != facts.unknown.end();
    if (!known && !listed && truth_of(setting) != false && !is_nothing(setting))
      facts.unknown.push_back(setting.key);
  }
}

bool is_without_effect(std::span<const KeyRow> rows, std::string_view key) {
  bool known = false;
  for (const KeyRow& row : rows) {
    if (!matches(row.theirs, key)) continue;
    if (!row.ours.empty()) return false;
    known = true;
  }
  return known;
}

void apply_further(std::span<const KeyRow> rows, const Settings& settings, Facts& facts) {
  for (const KeySetting& setting : settings)
    for (const KeyRow& row : rows)
      if (matches(row.theirs, setting.key)) {
        apply(row.ours, setting, facts);
        std::erase(facts.unknown, setting.key);
      }
}

}  // namespace foretrain
