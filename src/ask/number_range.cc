#include "ask/number_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::int64_t kFewSteps = 16;
constexpr std::int64_t kSteps = 8;

// What lies between the ends of a range is read more easily in four digits.
double rounded(double value) {
  const double unit = std::pow(10, std::floor(std::log10(std::max(std::abs(value), 1e-9))) - 3);
  return unit >= 1 ? std::round(value / unit) * unit : std::round(value / unit) / std::round(1 / unit);
}

// From one end to the other, both included.
std::vector<double> steps(double low, double high, std::int64_t points, bool ratios, bool whole) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < points; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(std::max<std::int64_t>(points - 1, 1));
    const double between = ratios ? low * std::pow(high / low, part) : low + (high - low) * part;
    // Four digits where they keep points apart; a count is whole.
    const double round = std::abs(rounded(between) - between) * static_cast<double>(points) < (high - low) / 4
                             ? rounded(between)
                         : whole ? std::round(between)
                                 : between;
    out.push_back(i == 0 ? low : i + 1 == points ? high : std::clamp(round, low, high));
  }
  return out;
}

std::vector<double> values_of(double low, double high, std::optional<std::int64_t> points, bool whole) {
  const bool doubles = low > 0 && high >= 2 * low;
  if (points) return steps(low, high, *points, doubles, whole);
  if (high == low) return {low};
  if (!doubles && whole && high - low <= kFewSteps)
    return steps(low, high, std::llround(high - low) + 1, false, whole);
  if (!doubles) return steps(low, high, kSteps + 1, false, whole);
  std::vector<double> out;
  for (double v = low; v < high; v *= 2) out.push_back(v);
  out.push_back(high);
  return out;
}

}  // namespace

std::optional<double> number_of(std::string_view word) {
  constexpr double kMost = 1e15;
  std::optional<double> number = parse_number(word);
  if (!number)
    if (const auto whole = parse_count(word)) number = static_cast<double>(*whole);
  return number && std::abs(*number) <= kMost ? number : std::nullopt;
}

std::string number_text(double value, bool whole) {
  return whole ? fmt::format("{}", std::llround(value)) : fmt::format("{}", value);
}

Result<std::vector<std::string>> range_words(std::string_view text, bool whole, std::string_view unit) {
  const auto wrong = [&](std::string_view expected) {
    return fail(fmt::format("found {}, expected {}", foretrain::quoted(text), expected));
  };
  const std::size_t dots = text.find(".."), slash = text.find('/');
  std::optional<std::int64_t> points;
  if (slash != std::string_view::npos) {
    points = parse_integer(trim(text.substr(slash + 1)));
    if (!points || *points < 2 || *points > static_cast<std::int64_t>(kMostRangePoints))
      return wrong(fmt::format("from 2 to {} points behind the '/'", kMostRangePoints));
  }
  std::string_view first = trim(text.substr(0, dots));
  std::string_view last =
      trim(text.substr(dots + 2, slash == std::string_view::npos ? slash : slash - dots - 2));
  const bool units = !unit.empty() && first.ends_with(unit) && last.ends_with(unit);
  if (units) {
    first.remove_suffix(unit.size());
    last.remove_suffix(unit.size());
  }
  const auto low = number_of(first), high = number_of(last);
  const bool are_whole = !whole || (low && high && *low == std::floor(*low) && *high == std::floor(*high));
  if (!low || !high || !are_whole) return wrong("a range of numbers such as 1..8 or 100..3200/20");
  if (*low > *high) return wrong("the smaller number first");
  std::vector<std::string> words;
  for (const double value : values_of(*low, *high, points, whole)) {
    std::string word = number_text(value, whole);
    if (units) word += unit;
    if (words.empty() || words.back() != word) words.push_back(std::move(word));
  }
  return words;
}

}  // namespace foretrain
