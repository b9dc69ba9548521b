// CHECK_THAT: a mistake of ours, which wrong input never reaches (that is a Result, see base/result.h). It
// throws a Fault that says where; src/ask catches it, so that one broken request does not end a server.
#pragma once

#include <exception>
#include <string>

namespace foretrain {

class Fault : public std::exception {
 public:
  Fault(const char* condition, const char* file, int line);
  // "evaluator.cc:12: fault: expected dp > 0; this is a mistake in foretrain, please report it".
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace foretrain

#define CHECK_THAT(condition)                                                    \
  do {                                                                           \
    if (!(condition)) ::foretrain::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
