// What the program says and writes.
#pragma once

#include <string>
#include <string_view>

#include "base/field_mark.h"

namespace foretrain {

// Where an option's file goes: "-" is stdout, and then nothing else is told there.
bool is_stdout(std::string_view path);
Result<void> write_output(const std::string& path, std::string_view text);
// What write_output would refuse, as far as it can be known before the work begins.
Result<void> check_output(const std::string& path);

// Writes an answer to stdout. 0, also where the reader went away early (`foretrain list models | head -1`);
// 2, with a line on stderr, where it cannot be written.
int tell(std::string_view text);

// Writes the error's one line to stderr. 2, bad input or a limit of the machine; 1, a fault of ours.
int refuse(const Error& error, const FieldWords& words);

// What write_rows would refuse, likewise. `json`: whether the answer goes to stdout as JSON.
Result<void> check_rows_output(const std::string& csv, bool json);
// Writes the rows of an answer (report/json_csv.h), where a file for them is named.
Result<void> write_rows(const std::string& csv, std::string_view json, std::string_view key);

std::string without_slashes(std::string_view folder);  // at its end

// Whether a folder can be written where perhaps one is already; `what` of it is replaced with --force.
Result<void> check_replaceable(const std::string& folder, bool force, std::string_view what);

}  // namespace foretrain
