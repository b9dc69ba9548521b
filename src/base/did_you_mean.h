// "did you mean": the candidate nearest to a misspelt word by edit distance (adjacent swaps count one, upper
// and lower case are the same letter).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace foretrain {

// None where nothing is near (distance over a third of the longer word, at least 1 allowed).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// Where nothing is near, what begins like the word, or else holds it: "; did you mean one of llama-3-8b, llama-3-70b?".
// "; did you mean 'hidden'?" or "; expected one of a, b, c" where nothing is near (at most 12 listed,
// nothing where there is no candidate).
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace foretrain
