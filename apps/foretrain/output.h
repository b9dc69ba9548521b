// What the program says and writes.
#pragma once

#include <string>
#include <string_view>

#include "base/field_mark.h"

namespace foretrain {

// Writes an answer to stdout. 0, also where the reader went away early (`foretrain list models | head -1`);
// 2, with a line on stderr, where it cannot be written.
int tell(std::string_view text);

// Writes the error's one line to stderr. 2, bad input or a limit of the machine; 1, a fault of ours.
int refuse(const Error& error, const FieldWords& words);

std::string without_slashes(std::string_view folder);  // at its end

// Whether a folder can be written where perhaps one is already; `what` of it is replaced with --force.
Result<void> check_replaceable(const std::string& folder, bool force, std::string_view what);

}  // namespace foretrain
