#include "formats/shell_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostWords = 20'000;
// Around what is not known, inside a word.
constexpr char kOpen = '\x01', kClose = '\x02';

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A statement's text with its place: from a separator to the next, quotes and parentheses whole.
struct Statement {
  std::string text;
  int line = 0;
};

// Cuts at newlines, ';', '&&', '||', '|' and '&' outside quotes and parentheses; drops comments, joins continued lines.
class Cutter {
 public:
  Cutter(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<std::vector<Statement>> cut() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        escape();
      } else if (c == '\'' || c == '"' || c == '`') {
        TRY(quoted_part(c));
      } else if (c == '$' && (next() == '(' || next() == '{')) {
        TRY(nested());
      } else if (c == '(') {
        ++parens_, keep();
        opened_ = opened_ == 0 ? line_ : opened_;
      } else if (c == ')') {
        if (parens_ > 0) --parens_;
        keep();
      } else if (c == '#' && (current_.empty() || current_.back() == ' ' || current_.back() == '\t' ||
                              current_.back() == '\n' || current_.back() == '(')) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
        separator(c);
      } else {
        keep();
      }
      if (out_.size() > kMostWords) return fail("more than 20000 statements", {file_, line_, 0});
    }
    if (parens_ > 0) return fail("found a '(' that does not end", {file_, opened_, 0});
    finish();
    return std::move(out_);
  }

 private:
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }
  void keep() {
    if (current_.empty()) begin_ = line_;
    if (text_[at_] == '\n') ++line_;
    current_ += text_[at_++];
  }
  void escape() {
    if (next() == '\n') {
      at_ += 2, ++line_;
      if (!current_.empty()) current_ += ' ';
      return;
    }
    if (next() == '\r' && at_ + 2 < text_.size() && text_[at_ + 2] == '\n') {
      at_ += 3, ++line_;
      if (!current_.empty()) current_ += ' ';
      return;
    }
    keep();
    if (at_ < text_.size()) keep();
  }
  Result<void> quoted_part(char quote) {
    const int begin = line_;
    keep();
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && quote != '\'' && at_ + 1 < text_.size()) keep();
      keep();
    }
    if (at_ == text_.size())
      return fail(fmt::format("found a {} that does not end", quote), {file_, begin, 0});
    keep();
    return {};
  }
  // $( ... ) and ${ ... } with what is inside.
  Result<void> nested() {
    const int begin = line_;
    const char open = next(), close = open == '(' ? ')' : '}';
    int depth = 0;
    do {
      if (text_[at_] == open) ++depth;
      if (text_[at_] == close) --depth;
      const bool starts = depth == 0 && text_[at_] == '$';
      keep();
      if (!starts && depth == 0) return {};
    } while (at_ < text_.size());
    return fail(fmt::format("found a '${}' that does not end", open), {file_, begin, 0});
  }
  void separator(char c) {
    const bool redirect = c == '&' && !current_.empty() && (current_.back() == '>' || next() == '>');
    if (parens_ > 0 && (c == '\n' || current_.find('=') != std::string::npos)) {
      keep();
      if (c == '\n') current_.back() = '\n';
      return;
    }
    if (redirect) {
      keep();
      return;
    }
    finish();
    if (c == '\n') ++line_;
    ++at_;
  }
  void finish() {
    const std::string_view text = trim(current_);
    if (!text.empty()) out_.push_back({std::string(text), begin_});
    current_.clear();
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 1, begin_ = 1, opened_ = 0, parens_ = 0;
  std::string current_;
  std::vector<Statement> out_;
};

struct Value {
  std::vector<std::string> words;  // one of a plain variable
  std::string hangs_on;            // why it is not known; empty: it is
};

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  ShellScript read(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      line_ = statement.line;
      read(statement.text);
    }
    for (ShellCommand& command : out_) {
      command.words = opened(command.words);
      for (ShellWord& word : command.words) unmark(word);
    }
    ShellScript script{std::move(out_), {}};
    for (auto& [name, value] : variables_)
      if (value.hangs_on.empty() && value.words.size() == 1 &&
          value.words[0].find(kOpen) == std::string::npos)
        script.variables.emplace(name, value.words[0]);
    return script;
  }

 private:
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
  void unmark(ShellWord& word) const {
    std::string plain;
    for (std::size_t i = 0; i < word.text.size(); ++i) {
      if (word.text[i] == kOpen) {
        const std::size_t end = std::min(word.text.find(kClose, i), word.text.size());
        const auto reason = reasons_.find(word.text.substr(i + 1, end - i - 1));
        // What hangs on a condition weighs more than what an environment sets.
        if (reason != reasons_.end() &&
            (word.unknown.empty() || reason->second.find("hangs on") != std::string::npos))
          word.unknown = reason->second;
        continue;
      }
      if (word.text[i] != kClose) plain += word.text[i];
    }
    word.text = plain;
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
    if (text.find("()") != std::string_view::npos && is_name(text.front())) {
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
    while (const std::size_t size = assignment(text)) {
      assignments.emplace_back(std::string(text.substr(0, text.find('='))),
                               std::string(text.substr(0, size)));
      text = trim(text.substr(size));
      if (text.empty()) break;
    }
    if (text.empty()) {
      for (const auto& [name, whole] : assignments) assign(whole);
      return;
    }
    command.words = expand(text);
    for (auto it = assignments.rbegin(); it != assignments.rend(); ++it) {
      const std::vector<ShellWord> value = expand(it->second);
      command.words.insert(command.words.begin(), value.begin(), value.end());
    }
    note_defaults(text);
    if (!command.words.empty() && out_.size() < kMostWords) out_.push_back(std::move(command));
  }

  // Length of NAME=value, NAME+=value or NAME=( ... ) at the start; 0: none.
  static std::size_t assignment(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size() && is_name(text[i])) ++i;
    if (i == 0 || (text[0] >= '0' && text[0] <= '9')) return 0;
    if (i < text.size() && text[i] == '+') ++i;
    if (i >= text.size() || text[i] != '=') return 0;
    return word_end(text, i + 1);
  }

  // Where a word that begins at i ends.
  static std::size_t word_end(std::string_view text, std::size_t i) {
    int depth = 0;
    char quote = 0;
    for (; i < text.size(); ++i) {
      const char c = text[i];
      if (quote != 0) {
        if (c == '\\' && quote == '"')
          ++i;
        else if (c == quote)
          quote = 0;
        continue;
      }
      if (c == '\\')
        ++i;
      else if (c == '\'' || c == '"' || c == '`')
        quote = c;
      else if (c == '(' || c == '{')
        ++depth;
      else if ((c == ')' || c == '}') && depth > 0)
        --depth;
      else if (depth == 0 && (c == ' ' || c == '\t' || c == '\n'))
        break;
    }
    return std::min(i, text.size());
  }

  void assign(std::string_view whole) {
    const std::size_t equals = whole.find('=');
    const bool adds = whole[equals - 1] == '+';
    const std::string name(whole.substr(0, adds ? equals - 1 : equals));
    std::string_view text = whole.substr(equals + 1);
    Value value;
    const bool array = text.starts_with('(') && text.ends_with(')');
    for (const ShellWord& word :
         array ? expand(text.substr(1, text.size() - 2)) : joined(expand(text, false))) {
      value.words.push_back(word.text);
    }
    if (!array && value.words.empty()) value.words.emplace_back();
    if (depth_ > 0)
      value.hangs_on = fmt::format("${} hangs on a condition, a loop or a function that begins in line {}",
                                   name, blocks_.front());
    Value& old = variables_[name];
    if (!adds) {
      old = std::move(value);
      return;
    }
    if (array) {
      old.words.insert(old.words.end(), value.words.begin(), value.words.end());
    } else {
      if (old.words.empty()) old.words.emplace_back();
      old.words.back() += value.words.front();
    }
    if (old.hangs_on.empty()) old.hangs_on = value.hangs_on;
  }
  static std::vector<ShellWord> joined(std::vector<ShellWord> words) {
    ShellWord one;
    for (const ShellWord& word : words) {
      one.text += word.text;
    }
    return {one};
  }

  // : "${X:=4}" sets X.
  void note_defaults(std::string_view text) {
    if (!text.starts_with(':')) return;
    const std::size_t begin = text.find("${"), mid = text.find(":=");
    if (begin == std::string_view::npos || mid == std::string_view::npos || mid < begin) return;
    const std::size_t end = text.rfind('}');
    if (end == std::string_view::npos || end < mid) return;
    assign(std::string(text.substr(begin + 2, mid - begin - 2)) + "=" +
           std::string(text.substr(mid + 2, end - mid - 2)));
  }

  // Words of a text; `splits`: what a variable holds is split at blanks outside quotes.
  std::vector<ShellWord> expand(std::string_view text, bool splits = true) {
    std::vector<ShellWord> words;
    std::size_t i = 0;
    while (i < text.size() && words.size() < kMostWords) {
      if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
        ++i;
        continue;
      }
      const std::size_t end = std::max(word_end(text, i), i + 1);
      const std::string_view raw = text.substr(i, end - i);
      i = end;
      if (raw == ">" || raw.starts_with('>') || raw.starts_with("2>") || raw == "<" ||
          raw.starts_with("&>")) {
        if (raw == ">" || raw == ">>" || raw == "2>" || raw == "<")
          i = word_end(text, std::min(text.find_first_not_of(" \t", i), text.size()));
        continue;
      }
      expand_word(raw, splits, words);
    }
    return words;
  }

  void expand_word(std::string_view raw, bool splits, std::vector<ShellWord>& out) {
    pieces_.assign(1, ShellWord{"", line_, ""});
    bool any = false;
    char quote = 0;
    for (std::size_t i = 0; i < raw.size();) {
      const char c = raw[i];
      if (quote == '\'' && c != '\'') {
        pieces_.back().text += c, ++i;
      } else if (c == '\'' && quote != '"') {
        quote = quote == 0 ? c : '\0', any = true, ++i;
      } else if (c == '"') {
        quote = quote == 0 ? c : '\0', any = true, ++i;
      } else if (c == '\\' && i + 1 < raw.size() && raw[i + 1] == '\n') {
        i += 2;  // a continued line
      } else if (c == '\\' && i + 1 < raw.size()) {
        if (quote == '"' && raw[i + 1] != '"' && raw[i + 1] != '\\' && raw[i + 1] != '$')
          pieces_.back().text += c;
        pieces_.back().text += raw[i + 1], i += 2;
      } else if (c == '`') {
        const std::size_t end = std::min(raw.find('`', i + 1), raw.size() - 1);
        unknown(raw.substr(i, end - i + 1), "is the output of a program");
        i = end + 1;
      } else if (c == '$') {
        i = variable(raw, i, quote == 0 && splits);
      } else {
        pieces_.back().text += c, ++i;
      }
    }
    for (ShellWord& piece : pieces_)
      if (any || !piece.text.empty()) out.push_back(std::move(piece));
  }

  // Kept in the text between two marks, so that of a list of words only those are unknown that hold it.
  void unknown(std::string_view text, std::string_view why) {
    reasons_.try_emplace(std::string(text), fmt::format("{} {}", printable(text), why));
    pieces_.back().text += kOpen + std::string(text) + kClose;
  }

  void append(const Value& value, std::string_view name, bool splits, bool whole_array) {
    if (!value.hangs_on.empty()) {
      pieces_.back().text += kOpen + ("$" + std::string(name)) + kClose;
      reasons_["$" + std::string(name)] = value.hangs_on;
      return;
    }
    bool first = true;
    for (const std::string& word : value.words) {
      std::vector<std::string> parts = {word};
      if (splits) parts = split_blanks(word);
      for (const std::string& part : parts) {
        if (!first && (splits || whole_array)) pieces_.push_back({"", line_, ""});
        pieces_.back().text += part;
        first = false;
      }
      if (!whole_array) break;
    }
  }
  static std::vector<std::string> split_blanks(const std::string& word) {
    std::vector<std::string> parts;
    std::string current;
    for (const char c : word) {
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
        current += c;
      } else if (!current.empty()) {
        parts.push_back(std::move(current));
        current.clear();
      }
    }
    if (!current.empty()) parts.push_back(std::move(current));
    return parts;
  }

  // Of $X, ${X}, ${X:-y}, ${X[@]}, $(...), $((...)) at i; returns where it ends.
  std::size_t variable(std::string_view raw, std::size_t i, bool splits) {
    if (i + 1 >= raw.size()) {
      pieces_.back().text += '$';
      return i + 1;
    }
    if (raw[i + 1] == '(') {
      const std::size_t end = closing(raw, i + 1);
      unknown(raw.substr(i, end - i),
              raw.substr(i).starts_with("$((") ? "is computed" : "is the output of a program");
      return end;
    }
    if (raw[i + 1] == '{') {
      const std::size_t end = closing(raw, i + 1);
      braces(raw.substr(i + 2, end - i - 3), raw.substr(i, end - i), splits);
      return end;
    }
    std::size_t end = i + 1;
    while (end < raw.size() && is_name(raw[end])) ++end;
    if (end == i + 1) end = std::min(raw.size(), i + 2);  // $@, $?, $#
    plain(raw.substr(i + 1, end - i - 1), splits, false, raw.substr(i, end - i));
    return end;
  }
  static std::size_t closing(std::string_view raw, std::size_t open) {
    const char from = raw[open], to = from == '(' ? ')' : '}';
    int depth = 0;
    for (std::size_t i = open; i < raw.size(); ++i) {
      if (raw[i] == from) ++depth;
      if (raw[i] == to && --depth == 0) return i + 1;
    }
    return raw.size();
  }

  void plain(std::string_view name, bool splits, bool array, std::string_view as_written) {
    const auto found = variables_.find(std::string(name));
    if (found != variables_.end()) return append(found->second, name, splits, array);
    unknown(as_written, name.find_first_not_of("0123456789@*") == std::string_view::npos
                            ? "is an argument of the script"
                            : "is not set in the script");
  }

  void braces(std::string_view inside, std::string_view as_written, bool splits) {
    std::size_t end = 0;
    while (end < inside.size() &&
           (is_name(inside[end]) || (end == 0 && (inside[0] == '@' || inside[0] == '*'))))
      ++end;
    const std::string_view name = inside.substr(0, end), rest = inside.substr(end);
    if (rest.empty()) return plain(name, splits, false, as_written);
    if (rest == "[@]" || rest == "[*]") return plain(name, splits, true, as_written);
    const bool defaults =
        rest.starts_with(":-") || rest.starts_with(":=") || rest.starts_with("-") || rest.starts_with("=");
    if (!defaults || name.empty()) return unknown(as_written, "is more than static reading follows");
    const auto found = variables_.find(std::string(name));
    const bool is_set =
        found != variables_.end() && !(rest.starts_with(':') && found->second.hangs_on.empty() &&
                                       (found->second.words.empty() || found->second.words[0].empty()));
    if (is_set) return append(found->second, name, splits, false);
    const std::string_view usual = rest.substr(rest.starts_with(':') ? 2 : 1);
    if (++nesting_ > 8) {
      --nesting_;
      return unknown(as_written, "is nested too deep");
    }
    std::vector<ShellWord> kept = std::move(pieces_);
    Value value;
    for (const ShellWord& word : joined(expand(usual, false))) value.words.push_back(word.text);
    --nesting_;
    pieces_ = std::move(kept);
    append(value, name, splits, false);
  }

  std::string file_;
  int line_ = 0, depth_ = 0, nesting_ = 0;
  std::vector<int> blocks_;
  std::map<std::string, Value> variables_;
  std::map<std::string, std::string> reasons_;
  std::vector<ShellWord> pieces_;
  std::vector<ShellCommand> out_;
};

}  // namespace

Result<ShellScript> shell_commands(std::string_view text, const std::string& file) {
  TRY_ASSIGN(const std::vector<Statement> statements, Cutter(text, file).cut());
  return Reader(file).read(statements);
}

}  // namespace foretrain
