// What could stand where the cursor is in a line of foretrain's, from the tables of options: for the completion of
// shells, which ask by `foretrain completion --line`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

struct CompletedWord {
  std::string word;  // what would stand there, from its beginning
  std::string what;  // a few words on it
};

struct Completions {
  std::vector<CompletedWord> words;
  bool files = false, folders = false;  // also those that the shell finds
  bool goes_on = false;                 // no space behind a word: a value or another key follows
};

// `words`: of the line to the cursor, the program first; the last is the one to complete and may be empty.
Completions completions(const std::vector<std::string>& words);

// A line a candidate, a tab before what is said about it; the last line is what the shell should do besides:
//   :files :folders :goes_on, or : alone.
std::string to_text(const Completions& completions);

}  // namespace foretrain
