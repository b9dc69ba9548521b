// What Megatron and its kin are launched with, in all forms: a script, a command line, a list of words, Kubernetes arguments,
// the block of arguments that they print into their log. All become settings, which megatron_table.h reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/run_map.h"
#include "formats/settings.h"

namespace foretrain {

// Words of a command line: launchers' own, the program, its flags.
struct Argument {
  std::string text;
  Position at;
  std::string unknown;  // why its text is not known; empty: it is
};

// "--flag value...", "--flag=value", words in front that are no flags left out.
Settings settings_of(const std::vector<Argument>& words);

Result<ForeignRun> read_arguments(const std::vector<Argument>& words, std::string_view format);
Result<ForeignRun> read_script(std::string_view text, const std::string& file);
Result<ForeignRun> read_argument_block(std::string_view text, const std::string& file);

bool has_argument_block(std::string_view text);

}  // namespace foretrain
