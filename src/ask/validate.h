// Measured runs against what is predicted for them.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "ask/session.h"
#include "report/validate_report.h"
#include "validate/baseline.h"
#include "validate/row_check.h"
#include "validate/summary.h"

namespace foretrain {

// What rows may take of the machine.
struct RowShare {
  std::size_t most_rows = 0;                // 0: as many as there are
  const std::atomic<bool>* stop = nullptr;  // nobody waits for the answer any more
};

// Words as they were given; empty: not given.
struct ValidateRequest {
  std::vector<Sources> tables;  // measured_sources() reads them
  std::string profile, against, by;
  std::string calibration;         // a folder of calibrate's: rows of its cluster stand on it
  std::optional<Source> baseline;  // the JSON of an earlier answer
  RowShare share{};
};

struct ValidateAnswer {
  std::vector<RowScore> rows;
  std::vector<std::string> notes;  // columns of tables that were passed over, rows that stand twice
  GroupBy by = GroupBy::kSource;
  std::optional<Drift> drift;  // since the baseline
  std::optional<RowsStanding> standing;
};

// A row that stands in several tables, by its source and id, counts once, as the last of them has it.
Result<ValidateAnswer> ask(Session& session, ValidateRequest request);

// What is wrong with tables, row by row, before anybody is judged by them.
struct CheckRowsRequest {
  std::vector<Sources> tables;
  RowShare share{};
};
struct CheckRowsAnswer {
  TableCheck check;  // of all tables together
  bool faulty = false;
};
Result<CheckRowsAnswer> ask(Session& session, CheckRowsRequest request);

}  // namespace foretrain
