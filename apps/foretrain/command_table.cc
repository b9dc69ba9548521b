#include "command_table.h"

#include <algorithm>

#include "base/text.h"

namespace foretrain {
namespace {

void declare_common(Options& options, CommonOptions& common) {
  options.group(kEverywhere);
  options.option("--presets", "FOLDER", common.presets, "A folder laid out like presets/, looked in first",
                 Takes::kFolder);
  options.option("--color", "WHEN", common.color,
                 "auto (without it: on a terminal, unless NO_COLOR is set or TERM is dumb), always or never",
                 {"auto", "always", "never"});
  options.flag("-h,--help", common.help, "Print this help");
}

}  // namespace

const OptionRow* CommandTable::find(std::string_view option) const {
  for (const OptionRow& row : rows) {
    if (row.is_argument) continue;
    const std::vector<std::string> names = names_of(row);
    if (std::find(names.begin(), names.end(), option) != names.end()) return &row;
  }
  return nullptr;
}

CommandTable program_table(CommonOptions& common) {
  Options options;
  declare_common(options, common);
  options.flag("-V,--version", common.version, "Print the version");
  return {"", "Know before you train: predicts the step time and memory of distributed LLM training.",
          "foretrain predict --model gpt2-xl --cluster dgx-a100 --gpus 8 --global-batch 64", options.rows()};
}

CommandTable table_of(Command& command, CommonOptions& common) {
  Options options;
  command.declare(options);
  declare_common(options, common);
  return {command.name(), command.what(), command.example(), options.rows()};
}

CommandTables::CommandTables() : commands_(all_commands()), program_(program_table(common_)) {
  for (const auto& command : commands_) tables_.push_back(table_of(*command, common_));
}

const CommandTable* CommandTables::find(std::string_view command) const {
  for (const CommandTable& table : tables_)
    if (table.name == command) return &table;
  return nullptr;
}

std::vector<std::string> CommandTables::names() const {
  std::vector<std::string> names;
  for (const CommandTable& table : tables_) names.push_back(table.name);
  return names;
}

std::vector<std::string> names_of(const OptionRow& row) {
  std::vector<std::string> names;
  for (const std::string_view name : split(row.names, ',')) names.emplace_back(name);
  return names;
}

std::string spelled(const OptionRow& row) {
  if (row.is_argument) return row.names + (row.repeats() ? "..." : "");
  return join(names_of(row), ", ") + (row.value.empty() ? "" : " " + row.value);
}

}  // namespace foretrain
