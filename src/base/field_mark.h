// The fields of requests, and the words that faces have for them: what a request calls `global_batch` is the
// option --global-batch, an input of a page, an argument of a function. Errors name the field that is at
// fault; text that speaks of other fields holds marks, which a face spells in its own words:
//   fail_field("deadline", "found no " + marked("tokens") + ", expected how many it is for")
//   as options: --deadline: found no --tokens, expected how many it is for
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace foretrain {

using FieldWords = std::function<std::string(std::string_view field)>;

// A field inside a text, between two control characters that no printable text holds.
std::string marked(std::string_view field);
std::string spelled(std::string_view text, const FieldWords& words);

// The error's message. Without a place it begins with the field's word, unless the message itself speaks of
// the field ("no model: give --model"); and the whole line, which for a fault is the message alone.
std::string message_of(const Error& error, const FieldWords& words);
std::string text_of(const Error& error, const FieldWords& words);

// The error of what a field's word led to. What is wrong inside a file keeps its place; a field that the
// error names already goes into the message.
tl::unexpected<Error> in_field(std::string_view field, Error error);

template <class T>
Result<T> of_field(std::string_view field, Result<T> result) {
  if (!result) return in_field(field, std::move(result).error());
  return result;
}

}  // namespace foretrain
