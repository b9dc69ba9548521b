// A subcommand: one file that owns its options, turns them into a request (src/ask), and shows the answer.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ask/session.h"
#include "options.h"

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

  // What a request's field is called here: "--global-batch", "-o"; what is wrong with an argument is told
  // after the subcommand's own name.
  virtual std::string word(std::string_view field) const;
};

std::unique_ptr<Command> predict_command();
std::unique_ptr<Command> search_command();
std::unique_ptr<Command> diagnose_command();
std::unique_ptr<Command> validate_command();
std::unique_ptr<Command> cost_command();
std::unique_ptr<Command> fit_command();
std::unique_ptr<Command> import_command();
std::unique_ptr<Command> list_command();
std::unique_ptr<Command> show_command();
std::unique_ptr<Command> convert_command();
std::unique_ptr<Command> capture_command();
std::unique_ptr<Command> serve_command();

}  // namespace foretrain
