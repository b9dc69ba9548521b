#include "formats/settings.h"

#include <algorithm>

namespace foretrain {
namespace {

void flatten(const Node& node, const std::string& key, Settings& out) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return;
    case Node::Kind::kScalar:
      out.push_back({key, {node.scalar}, node.at});
      return;
    case Node::Kind::kList: {
      KeySetting list{key, {}, node.at};
      for (const Node& item : node.items) {
        if (item.is_scalar()) list.words.push_back(item.scalar);
        if (item.is_map() || item.is_list()) flatten(item, key, out);
      }
      if (!list.words.empty()) out.push_back(std::move(list));
      return;
    }
    case Node::Kind::kMap:
      for (const auto& [name, child] : node.entries)
        flatten(child, key.empty() ? name : key + "." + name, out);
  }
}

// The word with its first "${...}" taken as nobody set it; whether there was a default.
bool fill_one(std::string& word) {
  const std::size_t begin = word.find("${");
  const std::size_t end = word.find('}', begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos) return false;
  const std::string inside = word.substr(begin + 2, end - begin - 2);
  const std::size_t colon = inside.find(':');
  if (colon == std::string::npos || inside.find_first_of("{ ,") != std::string::npos) return false;
  std::string usual = inside.substr(colon + 1);
  if (usual.starts_with('-') || usual.starts_with('=')) usual.erase(0, 1);
  word.replace(begin, end - begin + 1, usual);
  return true;
}

}  // namespace

std::string KeySetting::value() const {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

Settings settings_of(const Node& node) {
  Settings out;
  flatten(node, "", out);
  return out;
}

void fill_defaults(Settings& settings) {
  constexpr int kMostInOneWord = 8;
  for (KeySetting& setting : settings)
    for (std::string& word : setting.words) {
      for (int i = 0; i < kMostInOneWord && fill_one(word); ++i) {
      }
      setting.open =
          setting.open || word.find("${") != std::string::npos || word.find("$(") != std::string::npos;
    }
}

const KeySetting* find(const Settings& settings, std::string_view key) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const KeySetting& s) { return s.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

}  // namespace foretrain
