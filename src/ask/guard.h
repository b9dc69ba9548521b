// Between a request and whoever asked: what is thrown comes back as an Error. A check of ours that fails is
// marked as our fault: the command line ends with exit status 1, a server answers 500, Python gets an
// exception. Memory or threads that run out are the machine's.
#pragma once

#include <exception>

#include "base/result.h"

namespace foretrain {

Error error_of(const std::exception_ptr& thrown);

template <class Answer>
auto guarded(const Answer& answer) -> decltype(answer()) {
  try {
    return answer();
  } catch (...) {
    return tl::unexpected(error_of(std::current_exception()));
  }
}

}  // namespace foretrain
