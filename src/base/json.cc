#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/utf8.h"

namespace foretrain {
namespace {

// Most texts are keys and plans, in which nothing is to be escaped.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
  std::string out = "\"";
  if (is_plain(text)) return out.append(text) + '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      out += kReplacement;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (length == 1 && c < 0x20) {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

template <class Number>
std::string_view shortest(std::array<char, 32>& buffer, Number number) {
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  CHECK_THAT(error == std::errc());
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

}  // namespace

std::string json_text(std::string_view text) { return escaped(text); }

void JsonWriter::indent() {
  out_ += '\n';
  out_.append(2 * levels_.size(), ' ');
}

void JsonWriter::before_value() {
  if (levels_.empty()) {
    CHECK_THAT(out_.empty());  // a document is one value
    return;
  }
  if (levels_.back().array) {
    if (!levels_.back().empty) out_ += ',';
    levels_.back().empty = false;
    indent();
  } else {
    CHECK_THAT(after_key_);
    after_key_ = false;
  }
}

JsonWriter& JsonWriter::begin_answer() { return begin_object().key("version").value(kAnswerVersion); }

JsonWriter& JsonWriter::begin_object() {
  before_value();
  out_ += '{';
  levels_.push_back({.array = false, .empty = true});
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  before_value();
  out_ += '[';
  levels_.push_back({.array = true, .empty = true});
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  CHECK_THAT(!levels_.empty() && !levels_.back().array && !after_key_);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) indent();
  out_ += '}';
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  CHECK_THAT(!levels_.empty() && levels_.back().array);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) indent();
  out_ += ']';
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  CHECK_THAT(!levels_.empty() && !levels_.back().array && !after_key_);
  if (!levels_.back().empty) out_ += ',';
  levels_.back().empty = false;
  indent();
  out_ += escaped(name) + ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  before_value();
  std::array<char, 32> buffer;
  out_ += shortest(buffer, number == 0 ? 0.0 : number);  // and not -0
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  before_value();
  std::array<char, 32> buffer;
  out_ += shortest(buffer, number);
  return *this;
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  before_value();
  std::array<char, 32> buffer;
  out_ += shortest(buffer, number);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  before_value();
  out_ += truth ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  out_ += escaped(text);
  return *this;
}

JsonWriter& JsonWriter::null() {
  before_value();
  out_ += "null";
  return *this;
}

std::string JsonWriter::text() const {
  CHECK_THAT(levels_.empty() && !out_.empty());
  return out_ + '\n';
}

}  // namespace foretrain
