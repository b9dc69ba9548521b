#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace foretrain {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: fault: expected %s; this is a mistake in foretrain, please report it\n", file,
               line, condition);
  std::abort();
}

}  // namespace foretrain
