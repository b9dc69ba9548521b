// Variables of a shell script and words that hold them: what an assignment sets (also of arrays, `+=`), defaults (`${X:-8}`),
// arithmetic over what is known. What is not known stays in a word between two marks, with the reason.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

struct ShellWord {
  std::string text;
  int line = 0;
  std::string
      unknown;  // why it is not known, in words ("$TP is set under a condition in line 12"); empty: it is
};

class ShellExpansion {
 public:
  // Words of a text; `splits`: what a variable holds is split at blanks outside quotes.
  std::vector<ShellWord> expand(std::string_view text, int line, bool splits = true);

  // NAME=value, NAME+=value or NAME=( ... ). `hangs_on`: why its value is not known; empty: it is.
  void assign(std::string_view whole, int line, const std::string& hangs_on);
  // : "${X:=4}" sets X.
  void note_defaults(std::string_view text, int line, const std::string& hangs_on);

  // Takes the marks out of a word, and tells why it is not known.
  void unmark(ShellWord& word) const;

  // Plain variables that are known.
  std::map<std::string, std::string> known() const;

 private:
  struct Value {
    std::vector<std::string> words;  // one of a plain variable
    std::string hangs_on;            // why it is not known; empty: it is
  };
  std::vector<ShellWord> words_of(std::string_view text, bool splits);
  void expand_word(std::string_view raw, bool splits, std::vector<ShellWord>& out);
  void unknown(std::string_view text, std::string_view why);
  void append(const Value& value, std::string_view name, bool splits, bool whole_array);
  std::size_t variable(std::string_view raw, std::size_t i, bool splits);
  void computed(std::string_view inside, std::string_view as_written);
  std::string doubted(const std::string& text, const std::string& reason);
  void plain(std::string_view name, bool splits, bool array, std::string_view as_written);
  void braces(std::string_view inside, std::string_view as_written, bool splits);

  int line_ = 0, nesting_ = 0;
  std::map<std::string, Value> variables_;
  std::map<std::string, std::string> reasons_;
  std::vector<ShellWord> pieces_;
};

// Length of NAME=value, NAME+=value or NAME=( ... ) at the start; 0: none.
std::size_t assignment_size(std::string_view text);
std::vector<std::string> split_blanks(const std::string& word);

}  // namespace foretrain
