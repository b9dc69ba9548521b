#include "base/check.h"

#include "base/files.h"

namespace foretrain {

Fault::Fault(const char* condition, const char* file, int line)
    : text_(file_name(file) + ":" + std::to_string(line) + ": fault: expected " + condition +
            "; this is a mistake in foretrain, please report it") {}

void check_failed(const char* condition, const char* file, int line) { throw Fault(condition, file, line); }

}  // namespace foretrain
