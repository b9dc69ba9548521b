#include "base/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>
#include <system_error>

#include "base/utf8.h"

namespace foretrain {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

namespace {

template <class Number>
std::optional<Number> parse_whole_text(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole_text<std::int64_t>(text);
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  const std::int64_t scale = text.ends_with('k') ? 1024 : text.ends_with('M') ? 1'000'000 : 1;
  if (scale == 1) return parse_integer(text);
  const auto number = parse_integer(text.substr(0, text.size() - 1));
  constexpr std::int64_t kMost = 1'000'000'000'000;
  if (!number || *number > kMost || *number < -kMost) return std::nullopt;
  return *number * scale;
}

std::optional<double> parse_number(std::string_view text) {
  const std::optional<double> number = parse_whole_text<double>(text);
  if (number && !std::isfinite(*number)) return std::nullopt;  // from_chars reads "inf" and "nan"
  return number;
}

namespace {

// Appends the character at the start of `rest`, escaped where it has to be, and returns its bytes.
std::size_t append_printable(std::string& out, std::string_view rest) {
  const std::size_t length = utf8_length(rest);
  const std::string_view character = rest.substr(0, length == 0 ? 1 : length);
  if (utf8_printable(character)) {
    out += character;
  } else if (character == "\n") {
    out += "\\n";
  } else if (character == "\t") {
    out += "\\t";
  } else {
    for (const char c : character) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return character.size();
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) i += append_printable(out, text.substr(i));
  return out;
}

std::string quoted(std::string_view text) {
  constexpr int kMaxCharacters = 60;
  std::string out = "'";
  std::size_t i = 0;
  for (int n = 0; i < text.size() && n < kMaxCharacters; ++n) i += append_printable(out, text.substr(i));
  return out + (i < text.size() ? "...'" : "'");
}

namespace {

struct Unit {
  double size;
  double from;  // the smallest value, in this unit, that is told in it
  std::string_view name;
};

std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size < 999.5 || size >= 1e9 || std::isnan(size)) return fmt::format("{:.3g}", value);
  const double step = std::pow(10.0, std::floor(std::log10(size)) - 2.0);  // "12,300", not "1.23e+04"
  return with_commas(std::llround(std::round(value / step) * step));
}

// `units` from large to small; the first whose `from` is reached, else the last.
std::string in_units(double value, std::span<const Unit> units) {
  const Unit* unit = units.data();
  while (unit != &units.back() && !(std::abs(value / unit->size) >= unit->from)) ++unit;
  const std::string digits = three_digits(value / unit->size);
  return unit->name.empty() ? digits : digits + ' ' + std::string(unit->name);
}

// What rounds to 1000 of a unit is told in the next one: 999.7 ms reads "1 s".
constexpr double kThousand = 0.9995;

}  // namespace

std::string human_seconds(Seconds t) {
  static constexpr Unit units[] = {{86400.0, 2.0, "days"}, {3600.0, 2.0, "hours"},  {60.0, 2.0, "min"},
                                   {1.0, kThousand, "s"},  {1e-3, kThousand, "ms"}, {1e-6, kThousand, "us"},
                                   {1e-9, 0.0, "ns"}};
  return t.value == 0.0 || !std::isfinite(t.value) ? three_digits(t.value) + " s" : in_units(t.value, units);
}

std::string human_bytes(Bytes b) {
  // From 1000 and not from 1024 of the smaller unit on, so that three digits suffice: "0.98 GiB".
  constexpr double kFrom = 999.5 / 1024.0;
  static constexpr Unit units[] = {{0x1p50, kFrom, "PiB"}, {0x1p40, kFrom, "TiB"}, {0x1p30, kFrom, "GiB"},
                                   {0x1p20, kFrom, "MiB"}, {0x1p10, kFrom, "KiB"}, {1.0, 0.0, "B"}};
  return in_units(b.value, units);
}

std::string human_count(double n) {
  static constexpr Unit units[] = {{1e12, kThousand, "T"},
                                   {1e9, kThousand, "B"},
                                   {1e6, kThousand, "M"},
                                   {1e3, kThousand, "k"},
                                   {1.0, 0.0, ""}};
  return in_units(n, units);
}

std::string with_commas(std::int64_t n) {
  std::string digits = std::to_string(n);
  const std::ptrdiff_t first = n < 0 ? 1 : 0;
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

}  // namespace foretrain
