// What writers of launches share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/launch_settings.h"
#include "formats/write_launch.h"

namespace foretrain {

// What a format has where it lacks a key, in words.
struct Instead {
  std::string_view key, words;
};
std::vector<Unstated> unstated_of(const Statements& statements, std::span<const Instead> instead);

// A flag's words: "--num-layers", "32".
std::vector<std::string> flag_words(const KeySetting& setting, std::string_view dashes = "--");

}  // namespace foretrain
