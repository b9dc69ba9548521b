#include "formats/shell_expansion.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "formats/shell_arithmetic.h"
#include "formats/shell_statements.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostWords = 20'000;
constexpr std::size_t kLongest = 60;  // of a word as it stands in a message
// Around what is not known, inside a word.
constexpr char kOpen = '\x01', kClose = '\x02';
constexpr char kBlank = '\x03';  // a blank there, at which no word ends

// Where a word that begins at i ends.
std::size_t word_end(std::string_view text, std::size_t i) {
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

std::vector<ShellWord> joined(std::vector<ShellWord> words) {
  ShellWord one;
  for (const ShellWord& word : words) {
    one.text += word.text;
  }
  return {one};
}

std::size_t closing(std::string_view raw, std::size_t open) {
  const char from = raw[open], to = from == '(' ? ')' : '}';
  int depth = 0;
  for (std::size_t i = open; i < raw.size(); ++i) {
    if (raw[i] == from) ++depth;
    if (raw[i] == to && --depth == 0) return i + 1;
  }
  return raw.size();
}

// ARGS="$ARGS --flag": what follows the variable itself, in its quotes; empty: it is set anew.
std::string after_itself(const std::string& name, std::string_view text) {
  const std::string_view quote = text.starts_with('"') && text.ends_with('"') && text.size() > 1 ? "\"" : "";
  text = text.substr(quote.size(), text.size() - 2 * quote.size());
  for (const std::string& own : {"$" + name, "${" + name + "}"}) {
    const std::string_view blank = trim(text);
    if (blank.starts_with(own) && blank.size() > own.size() &&
        (blank[own.size()] == ' ' || blank[own.size()] == '\t'))
      return std::string(quote) + " " + std::string(blank.substr(own.size())) + std::string(quote);
  }
  return "";
}

}  // namespace

std::size_t assignment_size(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && is_name_part(text[i])) ++i;
  if (i == 0 || (text[0] >= '0' && text[0] <= '9')) return 0;
  if (i < text.size() && text[i] == '+') ++i;
  if (i >= text.size() || text[i] != '=') return 0;
  return word_end(text, i + 1);
}

std::vector<std::string> split_blanks(const std::string& word) {
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

std::map<std::string, std::string> ShellExpansion::known() const {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : variables_)
    if (value.hangs_on.empty() && value.words.size() == 1 && value.words[0].find(kOpen) == std::string::npos)
      out.emplace(name, value.words[0]);
  return out;
}

void ShellExpansion::unmark(ShellWord& word) const {
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
    if (word.text[i] != kClose) plain += word.text[i] == kBlank ? ' ' : word.text[i];
  }
  word.text = plain;
}

void ShellExpansion::assign(std::string_view whole, int line, const std::string& hangs_on) {
  line_ = line;
  const std::size_t equals = whole.find('=');
  const bool adds = whole[equals - 1] == '+';
  const std::string name(whole.substr(0, adds ? equals - 1 : equals));
  std::string_view text = whole.substr(equals + 1);
  const bool array = text.starts_with('(') && text.ends_with(')');
  const std::string rest = hangs_on.empty() || adds || array ? "" : after_itself(name, text);
  if (!rest.empty()) text = rest;
  Value value;
  for (const ShellWord& word :
       array ? words_of(text.substr(1, text.size() - 2), true) : joined(words_of(text, false))) {
    value.words.push_back(word.text);
  }
  if (!array && value.words.empty()) value.words.emplace_back();
  const std::string reason = hangs_on.empty() ? "" : fmt::format("${} {}", name, hangs_on);
  Value& old = variables_[name];
  if (!adds && rest.empty()) {
    old = {std::move(value.words), reason};
    return;
  }
  // What is added under a condition is doubtful by itself: what was there before is known as it was.
  if (!reason.empty())
    for (std::string& word : value.words) word = doubted(word, reason);
  if (array) {
    old.words.insert(old.words.end(), value.words.begin(), value.words.end());
    return;
  }
  if (old.words.empty()) old.words.emplace_back();
  old.words.back() += value.words.front();
}

// Each of the words of a text between marks.
std::string ShellExpansion::doubted(const std::string& text, const std::string& reason) {
  std::string out;
  for (const std::string& part : split_blanks(text)) {
    if (part.find(kOpen) != std::string::npos) {
      out += " " + part;
      continue;
    }
    reasons_.insert_or_assign(part, reason);
    out += (text.find(' ') == std::string::npos ? "" : " ") + (kOpen + part) + kClose;
  }
  return out;
}

void ShellExpansion::note_defaults(std::string_view text, int line, const std::string& hangs_on) {
  if (!text.starts_with(':')) return;
  const std::size_t begin = text.find("${"), mid = text.find(":=");
  if (begin == std::string_view::npos || mid == std::string_view::npos || mid < begin) return;
  const std::size_t end = text.rfind('}');
  if (end == std::string_view::npos || end < mid) return;
  assign(std::string(text.substr(begin + 2, mid - begin - 2)) + "=" +
             std::string(text.substr(mid + 2, end - mid - 2)),
         line, hangs_on);
}

std::vector<ShellWord> ShellExpansion::expand(std::string_view text, int line, bool splits) {
  line_ = line;
  return words_of(text, splits);
}

std::vector<ShellWord> ShellExpansion::words_of(std::string_view text, bool splits) {
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
    if (raw == ">" || raw.starts_with('>') || raw.starts_with("2>") || raw == "<" || raw.starts_with("&>")) {
      if (raw == ">" || raw == ">>" || raw == "2>" || raw == "<")
        i = word_end(text, std::min(text.find_first_not_of(" \t", i), text.size()));
      continue;
    }
    expand_word(raw, splits, words);
  }
  return words;
}

void ShellExpansion::expand_word(std::string_view raw, bool splits, std::vector<ShellWord>& out) {
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
void ShellExpansion::unknown(std::string_view text, std::string_view why) {
  std::string kept(text);
  std::replace(kept.begin(), kept.end(), ' ', kBlank);
  reasons_.try_emplace(kept,
                       fmt::format("{} {}", text.size() > kLongest ? quoted(text) : printable(text), why));
  pieces_.back().text += kOpen + kept + kClose;
}

void ShellExpansion::append(const Value& value, std::string_view name, bool splits, bool whole_array) {
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
// Of $X, ${X}, ${X:-y}, ${X[@]}, $(...), $((...)) at i; returns where it ends.
std::size_t ShellExpansion::variable(std::string_view raw, std::size_t i, bool splits) {
  if (i + 1 >= raw.size()) {
    pieces_.back().text += '$';
    return i + 1;
  }
  if (raw[i + 1] == '(') {
    const std::size_t end = closing(raw, i + 1);
    if (raw.substr(i).starts_with("$((") && raw.substr(0, end).ends_with("))"))
      computed(raw.substr(i + 3, end - i - 5), raw.substr(i, end - i));
    else
      unknown(raw.substr(i, end - i), "is the output of a program");
    return end;
  }
  if (raw[i + 1] == '{') {
    const std::size_t end = closing(raw, i + 1);
    braces(raw.substr(i + 2, end - i - 3), raw.substr(i, end - i), splits);
    return end;
  }
  std::size_t end = i + 1;
  while (end < raw.size() && is_name_part(raw[end])) ++end;
  if (end == i + 1) end = std::min(raw.size(), i + 2);  // $@, $?, $#
  plain(raw.substr(i + 1, end - i - 1), splits, false, raw.substr(i, end - i));
  return end;
}
void ShellExpansion::plain(std::string_view name, bool splits, bool array, std::string_view as_written) {
  const auto found = variables_.find(std::string(name));
  if (found != variables_.end()) return append(found->second, name, splits, array);
  unknown(as_written, name.find_first_not_of("0123456789@*") == std::string_view::npos
                          ? "is an argument of the script"
                          : "is not set in the script");
}

void ShellExpansion::braces(std::string_view inside, std::string_view as_written, bool splits) {
  std::size_t end = 0;
  while (end < inside.size() &&
         (is_name_part(inside[end]) || (end == 0 && (inside[0] == '@' || inside[0] == '*'))))
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
  for (const ShellWord& word : joined(words_of(usual, false))) value.words.push_back(word.text);
  --nesting_;
  pieces_ = std::move(kept);
  append(value, name, splits, false);
}

// Whole numbers over variables that are known.
void ShellExpansion::computed(std::string_view inside, std::string_view as_written) {
  const auto value = shell_arithmetic(inside, [this](std::string_view name) -> std::optional<std::string> {
    const auto found = variables_.find(std::string(name));
    if (found == variables_.end() || !found->second.hangs_on.empty() || found->second.words.size() != 1)
      return std::nullopt;
    return found->second.words[0];
  });
  if (value)
    pieces_.back().text += std::to_string(*value);
  else
    unknown(as_written, "is computed from what the script does not say");
}

}  // namespace foretrain
