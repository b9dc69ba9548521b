// A subcommand as it is told: its words and its options, and what all subcommands have.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "command.h"

namespace foretrain {

// Options that stand before or after the subcommand.
struct CommonOptions {
  std::string presets, color;
  bool help = false, version = false;
};
inline constexpr const char* kEverywhere = "Everywhere";  // their head

struct CommandTable {
  std::string name;  // empty: the program itself
  std::string what, example;
  std::vector<OptionRow> rows;

  const OptionRow* find(std::string_view option) const;  // "--out" or "-o"; null where there is none
};

// The program's own, without its subcommands.
CommandTable program_table(CommonOptions& common);
CommandTable table_of(Command& command, CommonOptions& common);

// Of all subcommands, for who tells about them and reads no words into them: their targets last as long as this.
class CommandTables {
 public:
  CommandTables();
  const CommandTable& program() const { return program_; }
  std::span<const CommandTable> commands() const { return tables_; }
  const CommandTable* find(std::string_view command) const;
  std::vector<std::string> names() const;

 private:
  CommonOptions common_;
  std::vector<std::unique_ptr<Command>> commands_;
  CommandTable program_;
  std::vector<CommandTable> tables_;
};

// "--gpus N", "-o, --out FOLDER"; of an argument "FILE..." where there may be several.
std::string spelled(const OptionRow& row);
std::vector<std::string> names_of(const OptionRow& row);

}  // namespace foretrain
