// Result<T>: a value, or what is wrong with the input. An Error carries the place (file, line, column,
// counted from 1; 0 where there is none) and one line saying what was found and what was expected. Where a
// field of a request is at fault it is named apart from the message, for each face has its own word for it
// (base/field_mark.h).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace foretrain {

struct Position {
  std::string file;  // empty: not from a file
  int line = 0;
  int column = 0;
};

// Whose fault it is: the input's, the machine's, which is at its limits, or ours.
enum class ErrorKind : unsigned char { kInput, kMachine, kFault };

struct Error {
  std::string message;
  Position at;
  std::string field{};  // of the request, as its struct calls it ("global_batch"); empty: none of them
  ErrorKind kind = ErrorKind::kInput;

  // "run.yaml:3:5: error: ..." or, without a place, "foretrain: error: global_batch: ..."; always one line.
  std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string message, Position at = {}) {
  return tl::unexpected<Error>(Error{std::move(message), std::move(at)});
}

// Something is wrong with a field of the request.
inline tl::unexpected<Error> fail_field(std::string_view field, std::string message) {
  return tl::unexpected<Error>(Error{std::move(message), {}, std::string(field)});
}

}  // namespace foretrain

// Takes the value out of a Result, or returns its error from the calling function.
#define FORETRAIN_CONCAT_(a, b) a##b
#define FORETRAIN_CONCAT(a, b) FORETRAIN_CONCAT_(a, b)
#define TRY_ASSIGN(lhs, ...) TRY_ASSIGN_(FORETRAIN_CONCAT(result_, __LINE__), lhs, __VA_ARGS__)
#define TRY_ASSIGN_(tmp, lhs, ...)                         \
  auto tmp = (__VA_ARGS__);                                \
  if (!tmp) return tl::unexpected(std::move(tmp).error()); \
  lhs = *std::move(tmp)
#define TRY(...)                                                                                            \
  do {                                                                                                      \
    if (auto try_result = (__VA_ARGS__); !try_result) return tl::unexpected(std::move(try_result).error()); \
  } while (false)
