// The scores of measured rows as text and as JSON. Text:
//   source               rows   MAPE  median    p90    bias  in 80 %   memory rows   MAPE    bias
//   h200_steps             14   9.1%    8.4%  14.2%   -2.0%    92.9%            14   6.3%   +1.1%
//   all                    14   ...
// where rows share groups also the mean of groups; then the reasons for which rows were left out, and how failed runs were told from those that ran.
#pragma once

#include <string>
#include <vector>

#include "validate/baseline.h"
#include "validate/summary.h"

namespace foretrain {

// Of rows that stand on a calibration: how many, and how many of them taught it.
struct RowsStanding {
  std::string name, origin;
  std::size_t rows = 0, taught = 0;
};

struct ValidateReport {
  GroupBy by = GroupBy::kSource;
  bool rows = false;             // text: the worst first; JSON: in the order of the tables
  const Drift* drift = nullptr;  // since a baseline
  const RowsStanding* standing = nullptr;
};

std::string validate_text(const std::vector<RowScore>& rows, const ValidateReport& report);

// {summary, groups {by: {name: summary}}, peers [], baseline {}, calibration {}, rows []}: `rows` holds those that were predicted; one whose run
// failed for memory has null measured_s and error.
std::string validate_json(const std::vector<RowScore>& rows, const ValidateReport& report);

// A line a source, GPU, stack, cluster and feature, then of all: docs/formats/validate-json.md.
std::string validate_csv(const std::vector<RowScore>& rows);

}  // namespace foretrain
