// Words of requests that several of them take: numbers as people write them. Errors name the field.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace foretrain {

// "no model: give --model".
tl::unexpected<Error> not_given(std::string_view field);

// Empty: not given, 0; 1k is 1024, 1M a million. The upper limits are the run's to check, for a file states the same figures.
Result<std::int64_t> count_word(std::string_view field, std::string_view word);
// Tokens of a sequence: 131072, 128k, 1M.
Result<std::int64_t> tokens_word(std::string_view field, std::string_view word);
Result<std::int64_t> bounded_count_word(std::string_view field, std::string_view word, std::int64_t most);

// "300e9", "300B", "1.5T", "10M".
Result<double> amount_word(std::string_view field, std::string_view word);

// "30d", "12h", "90m", "3600s": in seconds.
Result<double> duration_word(std::string_view field, std::string_view word);

}  // namespace foretrain
