// What one operator takes, or a table of samples beside what is predicted for them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ask/session.h"
#include "report/cost_report.h"

namespace foretrain {

// Words as they were given; empty: not given.
struct CostRequest {
  std::vector<std::string> words;  // an operator and its sizes: linear, m=8192, k=4096, n=4096
  std::optional<Sources> samples;  // or a table (sample_sources() reads it)
  std::string impl, pass, dtype, gpu, profile;
};

Result<CostReport> ask(Session& session, CostRequest request);

// Whether a word is an operator's; otherwise it may be the path of a table.
bool is_operator(std::string_view word);

}  // namespace foretrain
