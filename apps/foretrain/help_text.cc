#include "help_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "command_table.h"
#include "fold.h"
#include "plan_keys.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostNames = 26;  // where words stand beside names, these are not wider

// A name and what it means beside it, or below where the name is long.
std::string entry(std::string_view name, std::string_view words, std::size_t names, std::size_t width) {
  const std::size_t column = names + 4;
  std::string out = "  " + std::string(name);
  if (places(name) > names)
    out += '\n' + std::string(column, ' ');
  else
    out += std::string(column - 2 - places(name), ' ');
  return out + folded(words, column, column, width) + '\n';
}

// Names take a third of a narrow terminal at most.
std::size_t width_of_names(const std::vector<std::string>& names, std::size_t width) {
  std::size_t widest = 0;
  for (const std::string& name : names) widest = std::max(widest, places(name));
  return std::min({widest, kMostNames, width / 3});
}

std::string options_text(const CommandTable& table, std::size_t width) {
  std::vector<std::string> names;
  for (const OptionRow& row : table.rows) names.push_back(spelled(row));
  const std::size_t widest = width_of_names(names, width);
  std::string out;
  for (const std::string& group : groups_of(table)) {
    out += "\n" + (group.empty() ? "" : group + ":\n");
    for (const OptionRow& row : table.rows)
      if (row.group == group) out += entry(spelled(row), row.help, widest, width);
  }
  return out;
}

bool takes_plan(const CommandTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [](const OptionRow& row) { return row.completes.takes == Takes::kPlan; });
}

std::string short_plan_keys(std::size_t width) {
  std::vector<std::string> keys;
  for (const PlanKey& key : plan_keys()) keys.push_back(fmt::format("{}={}", key.key, key.values));
  return "\n" + folded("Keys of a plan ('foretrain help plan' says what each means):", 0, 0, width) + "\n  " +
         folded(join(keys, ", "), 2, 2, width) + "\n";
}

std::string examples(const CommandTable& table, std::size_t width) {
  std::string out = "\nExample:\n";
  for (const std::string_view line : split(table.example, '\n'))
    out += "  " + folded(trim(line), 2, 6, width) + "\n";
  return out;
}

std::string program_help(const CommandTables& tables, std::size_t width) {
  std::string out =
      folded(tables.program().what, 0, 0, width) + "\n\nUsage: foretrain SUBCOMMAND [OPTIONS]\n";
  out += "\nSubcommands:\n";
  const std::size_t names = width_of_names(tables.names(), width);
  for (const CommandTable& table : tables.commands()) out += entry(table.name, table.what, names, width);
  out += options_text(tables.program(), width) + examples(tables.program(), width);
  return out + "\n" +
         folded("'foretrain help SUBCOMMAND' tells more, 'foretrain help plan' the keys of --plan.", 0, 0,
                width) +
         "\n";
}

std::string plan_help(std::size_t width) {
  std::string out =
      folded(
          "A plan says how a run is divided over its GPUs and what is kept, sharded and overlapped: "
          "--plan tp=4,pp=2,recompute=full, or plan: {tp: 4, pp: 2, recompute: full} in a RUN.yaml. What it "
          "leaves out is the stack's choice. docs/formats/plan.md tells more.",
          0, 0, width) +
      "\n\n";
  for (const PlanKey& key : plan_keys()) {
    out += "  " + folded(fmt::format("{}={}", key.key, key.values), 2, 8, width) + "\n";
    const std::string words = key.besides.empty() ? key.meaning : key.meaning + " (" + key.besides + ")";
    out += "      " + folded(words, 6, 6, width) + "\n";
  }
  return out;
}

}  // namespace

std::vector<std::string> help_topics() { return {"plan"}; }

std::vector<std::string> groups_of(const CommandTable& table) {
  std::vector<std::string> groups;
  for (const OptionRow& row : table.rows)
    if (std::find(groups.begin(), groups.end(), row.group) == groups.end()) groups.push_back(row.group);
  return groups;
}

std::string usage_of(const CommandTable& table) {
  std::string out = "foretrain " + table.name + " [OPTIONS]";
  for (const OptionRow& row : table.rows)
    if (row.is_argument) out += " [" + spelled(row) + "]";
  return out;
}

std::string help_text(std::string_view command, std::size_t width) {
  const CommandTables tables;
  if (command.empty()) return program_help(tables, width);
  const CommandTable* table = tables.find(command);
  if (table == nullptr) return plan_help(width);
  return folded(table->what, 0, 0, width) + "\n\n" + folded("Usage: " + usage_of(*table), 0, 9, width) +
         "\n" + options_text(*table, width) + (takes_plan(*table) ? short_plan_keys(width) : "") +
         examples(*table, width);
}

}  // namespace foretrain
