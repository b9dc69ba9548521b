#include "ask/words.h"

#include <fmt/format.h>

#include <optional>

#include "base/field_mark.h"
#include "base/text.h"

namespace foretrain {

tl::unexpected<Error> not_given(std::string_view field) {
  return fail_field(field, fmt::format("no {}: give {}", field, marked(field)));
}

Result<std::int64_t> count_word(std::string_view field, std::string_view word) {
  if (word.empty()) return 0;
  const std::optional<std::int64_t> count = parse_count(word);
  if (!count || *count < 1)
    return fail_field(
        field, fmt::format("found {}, expected a whole number of at least 1", foretrain::quoted(word)));
  return *count;
}

Result<std::int64_t> tokens_word(std::string_view field, std::string_view word) {
  if (word.empty()) return 0;
  const std::optional<std::int64_t> count = parse_count(word);
  if (!count || *count < 1)
    return fail_field(field,
                      fmt::format("found {}, expected a whole number of at least 1, such as 4096, 128k or 1M",
                                  foretrain::quoted(word)));
  return *count;
}

Result<std::int64_t> bounded_count_word(std::string_view field, std::string_view word, std::int64_t most) {
  TRY_ASSIGN(const std::int64_t count, count_word(field, word));
  if (count > most) return fail_field(field, fmt::format("found {}, expected at most {}", count, most));
  return count;
}

Result<double> amount_word(std::string_view field, std::string_view word) {
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
    return fail_field(field,
                      fmt::format("found {}, expected a count from 1 to 1e18 such as 300e9, 300B or 1.5T",
                                  foretrain::quoted(word)));
  return *number * scale;
}

Result<double> duration_word(std::string_view field, std::string_view word) {
  const char unit = word.empty() ? ' ' : word.back();
  const double scale = unit == 'd' ? 86400 : unit == 'h' ? 3600 : unit == 'm' ? 60 : unit == 's' ? 1 : 0;
  const auto number = parse_number(word.substr(0, word.empty() ? 0 : word.size() - 1));
  if (scale == 0 || !number || !(*number > 0) || *number > 1e9)
    return fail_field(field, fmt::format("found {}, expected a time such as 30d, 12h, 90m or 3600s",
                                         foretrain::quoted(word)));
  return *number * scale;
}

}  // namespace foretrain
