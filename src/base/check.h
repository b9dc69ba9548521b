// CHECK_THAT: a mistake of ours. It prints where and stops the program; wrong input never reaches it
// (that is a Result, see base/result.h).
#pragma once

namespace foretrain {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace foretrain

#define CHECK_THAT(condition)                                                    \
  do {                                                                           \
    if (!(condition)) ::foretrain::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
