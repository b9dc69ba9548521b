// Everything that reads text of others, as functions of bytes alone: for libFuzzer's targets (target.cc) and for the
// replay of a corpus (replay.cc). Each refuses its input in one line or reads it, and what is read holds what its
// header promises; anything else ends the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace foretrain {

struct Reader {
  std::string_view name;  // of its target and of its folder in a corpus
  void (*read)(const std::string& bytes);
};

std::span<const Reader> readers();
const Reader* find_reader(std::string_view name);  // none: null

}  // namespace foretrain
