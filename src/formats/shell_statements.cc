#include "formats/shell_statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostStatements = 20'000;

class Cutter {
 public:
  Cutter(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<std::vector<ShellStatement>> cut() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        escape();
      } else if (c == '\'' || c == '"' || c == '`') {
        TRY(quoted_part(c));
      } else if (c == '$' && (next() == '(' || next() == '{')) {
        TRY(nested());
      } else if (c == '<' && next() == '<') {
        note_here_document();
        keep();
        keep();
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
      if (out_.size() > kMostStatements) return fail("more than 20000 statements", {file_, line_, 0});
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
  // The text of a here-document, which is input and no command: <<EOF ... EOF, <<-'EOF'.
  void take_here_document() {
    if (delimiter_.empty()) return;
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::string_view row = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size()), ++line_;
      if (trim(row) == delimiter_) break;
      if (!out_.empty()) out_.back().document += std::string(row) + "\n";
    }
    delimiter_.clear();
  }
  void note_here_document() {
    std::size_t i = at_ + 2;
    if (i < text_.size() && text_[i] == '<') return;  // a here-string
    if (i < text_.size() && text_[i] == '-') ++i;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\'' || text_[i] == '"' || text_[i] == '\\'))
      ++i;
    std::size_t end = i;
    while (end < text_.size() && is_name_part(text_[end])) ++end;
    delimiter_ = text_.substr(i, end - i);
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
    const bool joins = (c == '&' || c == '|') && next() == c;
    finish();
    if (joins) tests_ = !out_.empty() && is_test(out_.back().text);
    if (joins) ++at_;
    if (c == '\n') ++line_;
    ++at_;
    if (c == '\n') take_here_document();
  }
  // "[ -n X ] && Y=1": what follows hangs on it.
  static bool is_test(std::string_view text) {
    return text.starts_with("[ ") || text.starts_with("[[ ") || text.starts_with("test ") ||
           text.starts_with("((");
  }
  void finish() {
    const std::string_view text = trim(current_);
    if (!text.empty()) out_.push_back({std::string(text), begin_, std::exchange(tests_, false), {}});
    current_.clear();
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 1, begin_ = 1, opened_ = 0, parens_ = 0;
  std::string current_, delimiter_;
  bool tests_ = false;  // the statement that is read follows a test
  std::vector<ShellStatement> out_;
};

}  // namespace

Result<std::vector<ShellStatement>> shell_statements(std::string_view text, const std::string& file) {
  return Cutter(text, file).cut();
}

}  // namespace foretrain
