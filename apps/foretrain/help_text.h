// Help, from the tables of options.
//   Usage: foretrain predict [OPTIONS] [FILE...]
//   ...
//   What is trained, and on what:
//     --model M            A name (foretrain list models), a YAML file, or
//                          a config.json or its folder
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

struct CommandTable;

// Of a subcommand, or with an empty name of the program; or of what help tells besides ("plan").
std::string help_text(std::string_view command, std::size_t width);

// What `foretrain help WORD` takes besides subcommands.
std::vector<std::string> help_topics();

// "foretrain predict [OPTIONS] [FILE...]".
std::string usage_of(const CommandTable& table);

// The heads of a table's options in order.
std::vector<std::string> groups_of(const CommandTable& table);

}  // namespace foretrain
