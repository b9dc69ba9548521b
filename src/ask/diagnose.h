// Is a run as fast as it should be: its log or a trace of it, held against its prediction.
#pragma once

#include <string>
#include <vector>

#include "ask/predict.h"
#include "report/diagnose_report.h"
#include "search/better_plans.h"

namespace foretrain {

struct DiagnoseRequest {
  Source measured;  // a training log, or a trace of PyTorch's profiler; either may be packed by gzip
  std::vector<Source> ranks{};  // logs of further ranks of the same run
  PredictRequest
      run;  // what it was of: at most one file, and words; what the log itself states comes after these
  std::string time;  // that a search for better plans may take: "3s"; empty: so long; "0s": no search
  double most_seconds = 600;  // that `time` may be
  MachineShare share{};       // for that search
};

inline constexpr double kSearchSeconds = 3;

// What is missing of the run is asked for by name.
Result<DiagnosedRun> ask(Session& session, const DiagnoseRequest& request);

}  // namespace foretrain
