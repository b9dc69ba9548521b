#include "samples/log_line.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>

#include "base/text.h"

namespace foretrain {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return is_digit(c) || is_letter(c) || c == '_'; }

// "[36m", "[1;32m", "[0m" at the beginning: how long it is, 0 where it is none.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with('[')) return 0;
  std::size_t end = 1;
  while (end < text.size() && end < 16 && (is_digit(text[end]) || text[end] == ';')) ++end;
  return end < text.size() && end > 1 && text[end] == 'm' ? end + 1 : 0;
}

// How long the escape sequence at the beginning is.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[1] != '[') return 1;
  std::size_t end = 2;
  while (end < text.size() && !is_letter(text[end])) ++end;
  return std::min(end + 1, text.size());
}

std::string_view skip(std::string_view text, std::string_view what) {
  const std::size_t at = text.find_first_not_of(what);
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

double scale_of(char suffix) {
  switch (suffix) {
    case 'K':
    case 'k':
      return 1e3;
    case 'M':
      return 1e6;
    case 'B':
    case 'G':
      return 1e9;
    case 'T':
      return 1e12;
    default:
      return 0;
  }
}

// The digits at the beginning, thousands separators dropped, with fraction and exponent; how long they are.
std::size_t number_length(std::string_view text, std::string& plain) {
  std::size_t at = 0;
  const auto digits = [&](bool has_commas) {
    while (at < text.size()) {
      if (is_digit(text[at])) {
        plain += text[at++];
      } else if (has_commas && text[at] == ',' && !plain.empty() && at + 3 < text.size() &&
                 is_digit(text[at + 1]) && is_digit(text[at + 2]) && is_digit(text[at + 3]) &&
                 (at + 4 >= text.size() || !is_digit(text[at + 4]))) {
        ++at;
      } else {
        break;
      }
    }
  };
  if (at < text.size() && text[at] == '-') plain += text[at++];
  digits(true);
  if (plain.empty() || plain == "-") return 0;
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
    plain += text[at++];
    digits(false);
  }
  if (at + 1 < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t end = at + 1;
    if (text[end] == '+' || text[end] == '-') ++end;
    if (end < text.size() && is_digit(text[end])) {
      plain += 'e';
      if (text[at + 1] == '-') plain += '-';
      at = end;
      digits(false);
    }
  }
  return at;
}

// Two or four digits.
std::optional<int> digits_at(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// "2025-06-16 22:30:48,735" at this place.
std::optional<double> stamp_at(std::string_view text) {
  constexpr std::size_t kLength = 19;
  if (text.size() < kLength) return std::nullopt;
  const bool is_of_form = (text[4] == '-' || text[4] == '/') && text[7] == text[4] &&
                          (text[10] == ' ' || text[10] == 'T') && text[13] == ':' && text[16] == ':';
  const auto year = digits_at(text, 0, 4), month = digits_at(text, 5, 2), day = digits_at(text, 8, 2);
  const auto hour = digits_at(text, 11, 2), minute = digits_at(text, 14, 2), second = digits_at(text, 17, 2);
  if (!is_of_form || !year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  double seconds = static_cast<double>(days) * 86400 + *hour * 3600 + *minute * 60 + *second;
  if (text.size() > kLength + 1 && (text[kLength] == ',' || text[kLength] == '.')) {
    double unit = 0.1;
    for (std::size_t at = kLength + 1; at < text.size() && at < kLength + 10 && is_digit(text[at]); ++at) {
      seconds += unit * (text[at] - '0');
      unit /= 10;
    }
  }
  return seconds;
}

}  // namespace

std::string without_colours(std::string_view line) {
  std::string plain;
  plain.reserve(line.size());
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      at += escape_length(line.substr(at));
    } else if (const std::size_t colour = colour_length(line.substr(at))) {
      at += colour;
    } else {
      const char c = line[at++];
      plain += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return plain;
}

std::optional<LogNumber> leading_number(std::string_view text) {
  text = skip(text, " '\"");
  std::string plain;
  const std::size_t length = number_length(text, plain);
  if (length == 0) return std::nullopt;
  const auto value = parse_number(plain);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  LogNumber number{*value, {}, text.substr(length)};
  std::size_t letters = 0;
  while (letters < number.rest.size() && is_letter(number.rest[letters])) ++letters;
  number.unit = number.rest.substr(0, letters);
  number.rest = number.rest.substr(letters);
  if (number.unit.size() == 1 && scale_of(number.unit[0]) > 0) {
    number.value *= scale_of(number.unit[0]);
    number.unit = {};
  }
  return number;
}

std::optional<LogNumber> number_after(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    if (at > 0 && is_word(line[at - 1]) && is_word(key.front())) continue;
    std::string_view rest = line.substr(at + key.size());
    if (!rest.empty() && is_word(rest.front()) && is_word(key.back())) continue;
    rest = skip(rest, " '\"");
    while (!rest.empty() && (rest.front() == ':' || rest.front() == '=')) rest.remove_prefix(1);
    if (const auto number = leading_number(rest)) return number;
  }
  return std::nullopt;
}

std::optional<double> time_stamp(std::string_view line) {
  constexpr std::size_t kWithin = 120;
  const std::size_t end = std::min(line.size(), kWithin);
  for (std::size_t at = 0; at < end; ++at) {
    if (!is_digit(line[at]) || (at > 0 && is_digit(line[at - 1]))) continue;
    if (const auto seconds = stamp_at(line.substr(at))) return seconds;
  }
  return std::nullopt;
}

}  // namespace foretrain
