// Measured runs against what is predicted for them.
#pragma once

#include <string>
#include <vector>

#include "ask/session.h"
#include "validate/summary.h"

namespace foretrain {

// Words as they were given; empty: not given.
struct ValidateRequest {
  std::vector<Sources> tables;  // measured_sources() reads them
  std::string profile, against, by;
};

struct ValidateAnswer {
  std::vector<RowScore> rows;
  std::vector<std::string> notes;  // columns of tables that were passed over
  GroupBy by = GroupBy::kSource;
};

Result<ValidateAnswer> ask(Session& session, ValidateRequest request);

}  // namespace foretrain
