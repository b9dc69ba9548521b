// What a subcommand takes on the command line, in the order in which its help tells it: one table a subcommand, from
// which the reader (command_line.cc), help, the manual page and the completion of shells all follow.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace foretrain {

// What may stand in a word, so that a shell can complete it (completions.cc).
enum class Takes : unsigned char {
  kText,  // whatever its owner has in mind: a number, a name that is made up
  kWords,
  kFile,
  kFolder,
  kModel,
  kGpu,
  kCluster,
  kStack,
  kProfile,
  kPlan,       // tp=4,pp=2,...
  kDimension,  // a dimension of the search and its values
  kRange,      // likewise, and a range of them
  kOver,       // keys of run, plan, cluster and GPU
  kFigure,     // of cluster and GPU
  kOperator,   // an operator, then its sizes, or a table
  kName,       // of what the word before it says: show cluster NAME
  kSchema,     // an answer in JSON
  kCommand,    // a subcommand, or what help has besides
};

struct Completes {
  Takes takes = Takes::kText;
  std::vector<std::string_view> words = {};  // of kWords

  Completes() = default;
  Completes(Takes what) : takes(what) {}  // NOLINT: a kind alone says all
  Completes(std::initializer_list<std::string_view> list) : takes(Takes::kWords), words(list) {}
};

struct OptionRow {
  std::string names;  // "--gpus", or "-o,--out"; of an argument what help calls it
  std::string value;  // what help calls the word after it
  std::string help;
  std::string group;  // under which head help tells it
  Completes completes;
  std::variant<std::string*, std::vector<std::string>*, bool*> target;
  bool is_argument = false;

  bool is_flag() const { return std::holds_alternative<bool*>(target); }
  bool repeats() const { return std::holds_alternative<std::vector<std::string>*>(target); }
};

// Where a word is not given its target is left as it was: empty or false. Numbers are words here: requests
// read them (ask/words.h), so that what is wrong with one is told as with any other field.
class Options {
 public:
  // The head of those that follow, until the next.
  void group(const char* head) { group_ = head; }

  void argument(const char* name, std::string& word, const char* help, Completes completes = {}) {
    rows_.push_back({name, "", help, "", std::move(completes), &word, true});
  }
  void argument(const char* name, std::vector<std::string>& words, const char* help,
                Completes completes = {}) {
    rows_.push_back({name, "", help, "", std::move(completes), &words, true});
  }
  // `names` as "--gpus" or "-o,--out"; `value` is what help calls the word after it.
  void option(const char* names, const char* value, std::string& word, const char* help,
              Completes completes = {}) {
    rows_.push_back({names, value, help, group_, std::move(completes), &word, false});
  }
  void repeated(const char* names, const char* value, std::vector<std::string>& words, const char* help,
                Completes completes = {}) {
    rows_.push_back({names, value, help, group_, std::move(completes), &words, false});
  }
  void flag(const char* names, bool& given, const char* help) {
    rows_.push_back({names, "", help, group_, {}, &given, false});
  }

  const std::vector<OptionRow>& rows() const { return rows_; }

 private:
  std::string group_ = "Options";
  std::vector<OptionRow> rows_;
};

}  // namespace foretrain
