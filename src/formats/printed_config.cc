#include "formats/printed_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/tree_tables.h"

namespace foretrain {
namespace {

constexpr std::string_view kMark = "Config param ";
constexpr std::string_view kDevices = "Num_devices: ";
constexpr std::size_t kMostKeys = 10'000;  // MaxText has several hundred

// Python's words of a value: "['silu', 'linear']" are two, "<class 'jax.numpy.bfloat16'>" is a name.
std::vector<std::string> words_of(std::string_view value) {
  if (const std::size_t dot = value.rfind('.');
      value.starts_with("<class '") && dot != std::string_view::npos)
    return {std::string(value.substr(dot + 1, value.find_last_of('\'') - dot - 1))};
  std::vector<std::string> words;
  std::string plain(value);
  for (char& c : plain)
    if (value.starts_with('[') && (c == '[' || c == ']' || c == '\'' || c == ',')) c = ' ';
  for (const std::string_view word : split(plain, ' '))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

Settings printed_settings(std::string_view text, const std::string& file) {
  Settings settings;
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (const std::size_t at = line.find(kDevices); at != std::string_view::npos) {
      const std::string_view rest = line.substr(at + kDevices.size());
      settings.push_back({"num_devices", {std::string(rest.substr(0, rest.find(',')))}, {file, number, 0}});
    }
    const std::size_t at = line.find(kMark);
    if (at == std::string_view::npos) continue;
    if (settings.size() >= kMostKeys) break;
    const std::string_view pair = line.substr(at + kMark.size());
    const std::size_t colon = pair.find(": ");
    if (colon == std::string_view::npos) continue;
    std::vector<std::string> words = words_of(trim(pair.substr(colon + 2)));
    if (words.empty() || words.front() == "None") continue;
    settings.push_back({std::string(pair.substr(0, colon)), std::move(words), {file, number, 0}});
  }
  return settings;
}

// What is printed though it holds nothing: the sizes before scaling, "default" for no model, -1 for no capacity.
bool is_idle(const KeySetting& setting, const Settings& all) {
  if (setting.key.starts_with("base_")) return find(all, setting.key.substr(5)) != nullptr;
  const std::string value = setting.value();
  if (setting.key == "model_name") return value == "default";
  if (setting.key == "capacity_factor") return value.starts_with('-');
  return value == "0.0" || value == "0";
}

}  // namespace

bool has_printed_config(std::string_view text) { return text.find(kMark) != std::string_view::npos; }

Result<ForeignRun> read_printed_config(std::string_view text, const std::string& file) {
  Settings settings = printed_settings(text, file);
  const Settings all = settings;
  std::erase_if(settings, [&](const KeySetting& setting) { return is_idle(setting, all); });
  if (const KeySetting* kind = find(settings, "attention_type"); kind == nullptr || kind->value() != "mla")
    std::erase_if(settings, [](const KeySetting& s) {
      return s.key.ends_with("_lora_rank") || s.key.starts_with("qk_") || s.key == "v_head_dim";
    });
  Facts facts;
  apply_table(maxtext_table(), settings, facts);
  apply_further(maxtext_log_rows(), settings, facts);
  if (!facts.unknown.empty())
    facts.assume(
        fmt::format("{} further keys of the printed configuration are not read", facts.unknown.size()));
  facts.unknown.clear();  // all that MaxText knows is printed, whoever set it
  finish_maxtext(facts);
  return foreign_run("the configuration in a log of MaxText", std::move(facts));
}

}  // namespace foretrain
