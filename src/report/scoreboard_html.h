// The scoreboard: how good the predictions of all rows are, on one page for people who may not know the program. What
// is told by source, feature, GPU, stack and cluster is of rows in a healthy state (row_state.h); those set apart are
// counted beside. Everything that came from a table is escaped.
#pragma once

#include <string>
#include <vector>

#include "validate/baseline.h"

namespace foretrain {

struct RowsStanding;  // validate_report.h

// `standing`: where rows stand on a calibration.
std::string scoreboard_html(const std::vector<RowScore>& rows, const Drift* drift = nullptr,
                            const RowsStanding* standing = nullptr);

// Measured against predicted steps, both by ratios; for the page.
std::string scoreboard_scatter(const std::vector<RowScore>& rows);

}  // namespace foretrain
