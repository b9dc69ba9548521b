#include "formats/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMostWhole = 1'000'000'000'000'000;
constexpr auto kMost = static_cast<double>(kMostWhole);

}  // namespace

std::int64_t product(std::initializer_list<std::int64_t> factors) {
  std::int64_t out = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(out, factor, &out)) return std::numeric_limits<std::int64_t>::max();
  return out;
}

std::optional<std::int64_t> whole_word(std::string_view word) {
  std::string digits(trim(word));
  std::erase(digits, '_');
  if (const auto whole = parse_integer(digits))
    return *whole < -kMostWhole || *whole > kMostWhole ? std::nullopt : whole;
  const auto number = parse_number(digits);  // 2e9, 500000000.0
  if (!number ||
      *number != static_cast<double>(static_cast<std::int64_t>(std::clamp(*number, -kMost, kMost))))
    return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

void Facts::set(std::string_view key, std::string_view value, std::string_view by, const Position& at) {
  const auto [place, fresh] =
      stated_.try_emplace(std::string(key), Stated{std::string(value), std::string(by), at});
  if (fresh) return;
  Stated& old = place->second;
  // A default of ours gives way without a word; one key said twice is how launches override.
  if (!old.by.empty() && old.by != by && old.value != value)
    contradict(fmt::format("{} is {} by {}, but {} by {}", key, printable(old.value), printable(old.by),
                           printable(value), printable(by)));
  old = {std::string(value), std::string(by), at};
}

void Facts::set_usual(std::string_view key, std::string_view value) {
  stated_.try_emplace(std::string(key), Stated{std::string(value), "", {}});
}

std::string Facts::word(std::string_view key, std::string_view otherwise) const {
  const auto found = stated_.find(std::string(key));
  return found == stated_.end() ? std::string(otherwise) : found->second.value;
}

std::optional<std::int64_t> Facts::whole(std::string_view key) const {
  const auto found = stated_.find(std::string(key));
  return found == stated_.end() ? std::nullopt : whole_word(found->second.value);
}

void Facts::assume(std::string words) {
  if (std::find(assumed.begin(), assumed.end(), words) == assumed.end()) assumed.push_back(std::move(words));
}

}  // namespace foretrain
