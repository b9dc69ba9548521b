// Ranges of numbers as requests state them:
//   100..3200       doubling, up to its end
//   4k..128k/12     so many points of it, in equal ratios (equal steps where the end is not twice the start)
//   1Mtok..8Mtok    numbers of a unit, where both ends have it
// Without a number of points, a range from 0 or one that does not double is taken in steps of one where there are few,
// else in eight.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretrain {

inline constexpr std::size_t kMostRangePoints = 2000;

// 4k is 4096; none above what a double counts one by one.
std::optional<double> number_of(std::string_view word);
std::string number_text(double value, bool whole);

inline bool is_range(std::string_view text) { return text.find("..") != std::string_view::npos; }

// Each value as a word, in order and once: "4096", or "4000000tok" where `unit` is "tok" and both ends have it. What is
// wrong with a range is said without its key: "found '4..1', expected the smaller number first".
Result<std::vector<std::string>> range_words(std::string_view text, bool whole, std::string_view unit = "");

}  // namespace foretrain
