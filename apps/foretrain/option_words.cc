#include "option_words.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/text.h"

namespace foretrain {

Result<std::int64_t> count_option(std::string_view option, const std::string& word) {
  if (word.empty()) return 0;
  const std::optional<std::int64_t> count = parse_integer(word);
  if (!count || *count < 1)
    return fail(
        fmt::format("{}: found {}, expected a whole number of at least 1", option, foretrain::quoted(word)));
  return *count;
}

Result<double> amount_option(std::string_view option, std::string_view word) {
  constexpr double kMost = 1e18;
  std::string_view digits = word;
  double scale = 1;
  if (!digits.empty()) {
    const char last = digits.back();
    scale = last == 'T' || last == 't'   ? 1e12
            : last == 'B' || last == 'b' ? 1e9
            : last == 'M' || last == 'm' ? 1e6
            : last == 'k' || last == 'K' ? 1e3
                                         : 1;
    if (scale != 1) digits.remove_suffix(1);
  }
  const std::optional<double> number = parse_number(digits);
  if (!number || !(*number * scale >= 1) || *number * scale > kMost)
    return fail(fmt::format("{}: found {}, expected a count from 1 to 1e18 such as 300e9, 300B or 1.5T",
                            option, foretrain::quoted(word)));
  return *number * scale;
}

bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code ignored;
  return a == b || std::filesystem::equivalent(a, b, ignored) ||
         std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
}

}  // namespace foretrain
