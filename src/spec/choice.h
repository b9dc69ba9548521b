// Words of a closed vocabulary (an enum with a table of names), read from text with the nearest valid name
// in the error.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/did_you_mean.h"
#include "base/text.h"
#include "base/yaml.h"

namespace foretrain {

template <class E>
Result<E> parse_choice(std::string_view word, std::span<const std::string_view> names,
                       const Position& at = {}) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == word) return static_cast<E>(i);
  const std::vector<std::string> known(names.begin(), names.end());
  return fail("unknown word " + quoted(word) + suggestion(word, known), at);
}

template <class E>
Result<E> parse_choice(const Node& node, std::span<const std::string_view> names) {
  TRY_ASSIGN(const std::string word, node.text());
  return parse_choice<E>(word, names, node.at);
}

}  // namespace foretrain
