// The rows of an answer as CSV, for spreadsheets: an object of its JSON a row, its keys the columns. Keys of an object
// inside follow its own with a dot between (peak.when), items of a list are joined by spaces, lists of objects are left
// out, null is an empty cell. A cell that holds a comma, a quote or a line's end stands between quotes (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace foretrain {

// `json`: as JsonWriter wrote it. `key`: of the list whose objects are the rows; empty: the answer itself is the row, or
// each of several.
std::string csv_of(std::string_view json, std::string_view key);

}  // namespace foretrain
