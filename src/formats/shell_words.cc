#include "formats/shell_words.h"

#include <fmt/format.h>

#include "base/text.h"
#include "formats/shell_statements.h"
#include "formats/slurm_header.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostCommands = 20'000;

// The file that "cat > NAME" writes; empty: none.
std::string target_of(std::string_view text) {
  const std::size_t arrow = text.rfind('>');
  if (arrow == std::string_view::npos) return {};
  std::string name(trim(text.substr(arrow + 1)));
  name = name.substr(0, name.find_first_of(" \t"));
  std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
  return name;
}

class Reader {
 public:
  // `given`: variables that the script finds set.
  explicit Reader(const std::map<std::string, std::string>& given) {
    for (const auto& [name, value] : given) expansion_.assign(name + "=" + value, 0, "");
  }

  ShellScript read(const std::vector<ShellStatement>& statements) {
    for (const ShellStatement& statement : statements) {
      line_ = statement.line;
      after_test_ = statement.after_test;
      read(statement.text);
    }
    for (ShellCommand& command : out_) {
      command.words = opened(command.words);
      for (ShellWord& word : command.words) expansion_.unmark(word);
    }
    return {std::move(out_), expansion_.known(), {}};
  }

 private:
  // Why what is assigned here is not known; empty: it is.
  std::string hangs_on() const {
    if (depth_ > 0)
      return fmt::format("hangs on a condition, a loop or a function that begins in line {}",
                         blocks_.front());
    return after_test_ ? fmt::format("hangs on the condition before it in line {}", line_) : "";
  }

  // bash -c '$LAUNCHER $CMD': the shell inside reads the word once more.
  std::vector<ShellWord> again(std::vector<ShellWord> words) {
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      const std::string_view shell = words[i].text;
      if ((shell != "bash" && shell != "sh" && !shell.ends_with("/bash")) ||
          !words[i + 1].text.starts_with('-') || !words[i + 1].text.ends_with('c'))
        continue;
      const std::string inside = words[i + 2].text;
      words.resize(i);
      for (ShellWord& word : expansion_.expand(inside, line_)) words.push_back(std::move(word));
      return words;
    }
    return words;
  }
  // A word that is a whole command line (eval $cmd, bash -c "...") is the words of it.
  static std::vector<ShellWord> opened(const std::vector<ShellWord>& words) {
    std::vector<ShellWord> out;
    for (const ShellWord& word : words) {
      if (word.text.find(' ') == std::string::npos || word.text.find("--") == std::string::npos) {
        out.push_back(word);
        continue;
      }
      for (std::string& part : split_blanks(word.text)) out.push_back({std::move(part), word.line, ""});
    }
    return out;
  }
  static bool begins(std::string_view text, std::string_view word) {
    return text.starts_with(word) && (text.size() == word.size() || text[word.size()] == ' ' ||
                                      text[word.size()] == '\n' || text[word.size()] == '\t');
  }

  // Words of the language; what follows one ("then echo") is read again.
  void read(std::string_view text) {
    text = trim(text);
    if (text.empty()) return;
    for (const std::string_view word : {"if", "for", "while", "until", "case", "select"})
      if (begins(text, word)) {
        ++depth_, blocks_.push_back(line_);
        return;  // its condition sets nothing
      }
    for (const std::string_view word : {"fi", "done", "esac", "}"})
      if (begins(text, word)) return leave();
    for (const std::string_view word : {"then", "else", "do", "{"})
      if (begins(text, word)) {
        if (word == "{") ++depth_, blocks_.push_back(line_);
        return read(text.substr(word.size()));
      }
    if (begins(text, "elif") || begins(text, "function")) {
      if (begins(text, "function") || text.ends_with('{')) ++depth_, blocks_.push_back(line_);
      return;
    }
    if (text.find("()") != std::string_view::npos && is_name_part(text.front())) {
      if (text.ends_with('{')) ++depth_, blocks_.push_back(line_);
      return;
    }
    if (depth_ > 0 && text.ends_with(')') && text.find('(') == std::string_view::npos)
      return;  // a case's pattern
    simple(text);
  }
  void leave() {
    if (depth_ > 0) --depth_, blocks_.pop_back();
  }

  void simple(std::string_view text) {
    for (const std::string_view word :
         {"export", "declare", "local", "readonly", "typeset", "declare -a", "declare -x"})
      if (begins(text, word)) {
        text = trim(text.substr(word.size()));
        while (text.starts_with('-')) text = trim(text.substr(std::min(text.size(), text.find(' '))));
        if (text.find('=') == std::string_view::npos) return;
        break;
      }
    ShellCommand command;
    command.conditional = depth_ > 0;
    std::vector<std::pair<std::string, std::string>> assignments;
    while (const std::size_t size = assignment_size(text)) {
      assignments.emplace_back(std::string(text.substr(0, text.find('='))),
                               std::string(text.substr(0, size)));
      text = trim(text.substr(size));
      if (text.empty()) break;
    }
    if (text.empty()) {
      for (const auto& [name, whole] : assignments) expansion_.assign(whole, line_, hangs_on());
      return;
    }
    command.words = again(expansion_.expand(text, line_));
    for (auto it = assignments.rbegin(); it != assignments.rend(); ++it) {
      const std::vector<ShellWord> value = expansion_.expand(it->second, line_);
      command.words.insert(command.words.begin(), value.begin(), value.end());
    }
    expansion_.note_defaults(text, line_, hangs_on());
    if (!command.words.empty() && out_.size() < kMostCommands) out_.push_back(std::move(command));
  }

  int line_ = 0, depth_ = 0;
  bool after_test_ = false;
  std::vector<int> blocks_;
  ShellExpansion expansion_;
  std::vector<ShellCommand> out_;
};

}  // namespace

Result<ShellScript> shell_commands(std::string_view text, const std::string& file) {
  TRY_ASSIGN(const std::vector<ShellStatement> statements, shell_statements(text, file));
  ShellScript script = Reader(slurm_variables(slurm_header(text))).read(statements);
  for (const ShellStatement& statement : statements)
    if (const std::string name = target_of(statement.text); !statement.document.empty() && !name.empty())
      script.files[name] = statement.document;
  return script;
}

}  // namespace foretrain
