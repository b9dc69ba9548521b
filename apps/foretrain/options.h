// What a subcommand takes on the command line, in the order in which its help tells it. CLI11 stays behind
// this, in command_line.cc: it costs seconds of compilation a file.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace foretrain {

// Where a word is not given its target is left as it was: empty or false. Numbers are words here: requests
// read them (ask/words.h), so that what is wrong with one is told as with any other field.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  void argument(const char* name, std::string& word, const char* help);
  void argument(const char* name, std::vector<std::string>& words, const char* help);
  // `names` as "--gpus" or "-o,--out"; `value` is what help calls the word after it.
  void option(const char* names, const char* value, std::string& word, const char* help);
  void repeated(const char* names, const char* value, std::vector<std::string>& words, const char* help);
  void flag(const char* name, bool& given, const char* help);

 private:
  CLI::App& app_;
};

}  // namespace foretrain
