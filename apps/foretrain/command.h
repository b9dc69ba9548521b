// A subcommand: one file that owns its options, turns them into a request (src/ask), and shows the answer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ask/session.h"
#include "options.h"
#include "terminal.h"

namespace foretrain {

class Team;

class Command {
 public:
  virtual ~Command() = default;
  virtual const char* name() const = 0;
  virtual const char* what() const = 0;     // a line for help
  virtual const char* example() const = 0;  // likewise
  virtual void declare(Options& options) = 0;

  // Answers, and returns the exit status. `team`: the ranks that were started together, of which the first
  // answers; null: this process alone.
  virtual Result<int> run(Session& session, Team* team) = 0;

  // What stdout is; set before run().
  void set_terminal(const Terminal& terminal) { terminal_ = terminal; }

  // What a request's field is called here: "--global-batch", "-o"; what is wrong with an argument is told
  // after the subcommand's own name.
  virtual std::string word(std::string_view field) const;

 protected:
  const Terminal& terminal() const { return terminal_; }
  // Writes a text that people read to stdout, as a terminal shows it; what programs read goes through tell().
  int show_text(std::string_view text) const;

 private:
  Terminal terminal_;
};

std::vector<std::unique_ptr<Command>> all_commands();  // in the order in which help tells them

std::unique_ptr<Command> predict_command();
std::unique_ptr<Command> search_command();
std::unique_ptr<Command> diagnose_command();
std::unique_ptr<Command> validate_command();
std::unique_ptr<Command> accuracy_command();
std::unique_ptr<Command> cost_command();
std::unique_ptr<Command> fit_command();
std::unique_ptr<Command> import_command();
std::unique_ptr<Command> list_command();
std::unique_ptr<Command> show_command();
std::unique_ptr<Command> convert_command();
std::unique_ptr<Command> capture_command();
std::unique_ptr<Command> serve_command();
std::unique_ptr<Command> sampler_command();
std::unique_ptr<Command> schema_command();
std::unique_ptr<Command> help_command();
std::unique_ptr<Command> man_command();
std::unique_ptr<Command> completion_command();
std::unique_ptr<Command> calibrate_command();

}  // namespace foretrain
