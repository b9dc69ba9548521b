#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/did_you_mean.h"
#include "base/file.h"
#include "base/text.h"
#include "command_table.h"
#include "help_text.h"
#include "output.h"
#include "version.h"

namespace foretrain {

std::string Command::word(std::string_view field) const {
  std::string word = "--" + std::string(field);
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

int Command::show_text(std::string_view text) const { return tell(fitted(text, terminal_)); }

namespace {

// CLI11 only reads: what help says is ours (help_text.h), and its own help would take the table's names.
void add_options(CLI::App& app, const CommandTable& table) {
  app.set_help_flag();
  app.allow_extras();
  for (const OptionRow& row : table.rows) {
    if (const auto* given = std::get_if<bool*>(&row.target))
      app.add_flag(row.names, **given)->disable_flag_override();
    else if (const auto* word = std::get_if<std::string*>(&row.target))
      app.add_option(row.names, **word)->type_name(row.value);
    else if (row.is_argument)
      app.add_option(row.names, *std::get<std::vector<std::string>*>(row.target))->type_name("");
    else
      app.add_option(row.names, *std::get<std::vector<std::string>*>(row.target))
          ->type_name(row.value)
          ->expected(1)
          ->take_all();
  }
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// The first word that no option and no argument took.
Result<void> check_extras(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (word == "--") continue;
    if (word.starts_with('-') && word.size() > 1) {
      const std::string name = word.substr(0, word.find('='));
      return fail("unknown option " + foretrain::quoted(name) + suggestion(name, option_names(app)));
    }
    const std::vector<std::string> commands = command_names(app);
    if (commands.empty()) return fail(app.get_name() + ": unexpected argument " + foretrain::quoted(word));
    return fail("unknown subcommand " + foretrain::quoted(word) + suggestion(word, commands));
  }
  return {};
}

// CLI11 would take the next word for the missing value.
Result<void> check_empty_values(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return fail(printable(word.substr(0, word.size() - 1)) + ": found nothing after '=', expected a value");
    if (word.empty()) {
      const std::string_view before = argv[i - 1];
      const std::string option = before.starts_with("--") ? printable(before) + ": " : "";
      return fail(option + "found an empty word, expected a value");
    }
  }
  return {};
}

// CLI11's own words begin with the option's name: "--gpus: 1 required N missing", "json was given a ...".
Error reworded(const CLI::App& app, const CLI::ParseError& error) {
  const std::string message = error.what();
  const std::string name = message.substr(0, message.find(':'));
  if (error.get_name() != "ArgumentMismatch") return {message, {}};
  if (name.size() == message.size())
    return {"--" + message.substr(0, message.find(' ')) + ": takes no value", {}};
  for (const CLI::App* command : app.get_subcommands({})) {
    const CLI::Option* option = command->parsed() ? command->get_option_no_throw(name) : nullptr;
    if (option != nullptr && option->count() > 1)
      return {name + ": given " + std::to_string(option->count()) + " times, expected once", {}};
  }
  return {name + ": found nothing, expected a value", {}};
}

// The one that was chosen, if its words are all taken.
Result<Command*> chosen_command(const CLI::App& app, std::span<const std::unique_ptr<Command>> commands) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty())
    return fail("no subcommand given" + suggestion("", command_names(app)) +
                " (foretrain --help tells more)");
  TRY(check_extras(*chosen.front()));
  const std::string name = chosen.front()->get_name();
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&name](const auto& command) { return command->name() == name; });
  return found->get();
}

}  // namespace

Result<CommandLine> read_command_line(int argc, char** argv,
                                      std::span<const std::unique_ptr<Command>> commands) {
  CommandLine line;
  CommonOptions common;
  CLI::App app("", "foretrain");
  app.require_subcommand(0, 1);
  add_options(app, program_table(common));
  for (const std::unique_ptr<Command>& command : commands)
    add_options(*app.add_subcommand(command->name()), table_of(*command, common));

  TRY(check_empty_values(argc, argv));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (!common.help) return tl::unexpected(reworded(app, error));
  }
  TRY_ASSIGN(line.terminal, terminal_of(common.color));
  if (common.help) {
    const auto chosen = app.get_subcommands();
    line.told = help_text(chosen.empty() ? "" : chosen.front()->get_name(), help_width(line.terminal));
    return line;
  }
  TRY(check_extras(app));
  if (common.version) {
    line.told = std::string("foretrain ") + kVersion + "\n";
    return line;
  }
  TRY_ASSIGN(line.command, chosen_command(app, commands));
  line.command->set_terminal(line.terminal);
  line.presets = common.presets;
  if (!line.presets.empty() && !is_folder(line.presets))
    return fail_field("presets", foretrain::quoted(line.presets) + " is not a folder");
  return line;
}

}  // namespace foretrain
