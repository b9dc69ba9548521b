// What any configuration comes down to: settings, each a key, the words given for it, and where it stands. A flag without a
// word has none. A word that the text leaves to something else (`${TP}`, `$(hostname)`) is kept and marked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"

namespace foretrain {

struct KeySetting {
  std::string key;
  std::vector<std::string> words;
  Position at;
  bool open = false;  // a word is left to an environment or another file

  std::string value() const;  // its words with a blank between them
};
using Settings = std::vector<KeySetting>;

// A tree as settings: keys of maps joined by dots, a list's scalars as words. Null values are left out.
Settings settings_of(const Node& node);

// "${X:8}" and "${X:-8}" are 8 where nobody sets X; what has no default stays open.
void fill_defaults(Settings& settings);

const KeySetting* find(const Settings& settings, std::string_view key);

}  // namespace foretrain
