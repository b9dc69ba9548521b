// Tables of measured runs as tests of accuracy read them. FORETRAIN_MEASURED_RUNS names the folder
// (tests/accuracy/check sets it).
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "validate/measured_row.h"
#include "validate/row_model.h"

namespace foretrain {

inline std::vector<MeasuredRow> all_rows() {
  const char* folder = std::getenv("FORETRAIN_MEASURED_RUNS");
  REQUIRE_MESSAGE(folder != nullptr, "start it by tests/accuracy/check");
  auto rows = read_measured_rows(disk(), folder);
  REQUIRE_MESSAGE(rows.has_value(), (rows ? "" : rows.error().text()));
  return *std::move(rows);
}

// Six operations a parameter and token, against an H100's 989 TFLOP/s. What lies below in the playbook's
// sweep are plans that nobody would run.
inline bool above_a_tenth_of_peak(const MeasuredRow& row) {
  if (!row.step) return false;
  std::vector<std::string> assumed;
  const auto model = model_of(row, assumed);
  REQUIRE(model);
  const double tokens = static_cast<double>(*row.global_batch * *row.seq);
  const double rate = 6.0 * static_cast<double>(parameters(*model)) * tokens /
                      (row.step->value * static_cast<double>(*row.gpus));
  return rate > 0.1 * 989e12;
}

}  // namespace foretrain
