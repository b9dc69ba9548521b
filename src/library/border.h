// Between the functions of foretrain.h and ours: an Error, or whatever is thrown, becomes the last error of the thread,
// and what the function gives where it failed. Nothing else comes out.
#pragma once

#include <exception>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace foretrain {

void note_last_error(const Error& error) noexcept;
void note_last_error(const std::exception_ptr& thrown) noexcept;

// work() gives a Result<T>.
template <class T, class Work>
T at_border(T failed, const Work& work) noexcept {
  try {
    auto result = work();
    if (result) return *std::move(result);
    note_last_error(result.error());
  } catch (...) {
    note_last_error(std::current_exception());
  }
  return failed;
}

// A text for the caller, who frees it.
Result<char*> given_away(std::string_view text);

// What the caller has to give.
Result<void> present(const void* pointer, std::string_view name);

}  // namespace foretrain
