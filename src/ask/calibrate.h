// A cluster's own measurements become a calibration of it: tables of measured runs, training logs, traces of PyTorch's profiler,
// or a step's seconds beside a run. The answer holds the file of its folder; where that goes is up to the one who asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ask/predict.h"
#include "calibrate/learn.h"
#include "report/calibration_report.h"

namespace foretrain {

// Words as they were given; empty: not given.
struct CalibrateRequest {
  std::vector<Sources> measurements;  // measured_files() reads them
  PredictRequest
      run;  // what logs and traces were of, where they do not state it: at most one file, and words; its cluster
            // is the one that rows of tables are taken of
  std::string measured;      // seconds of a step of `run`
  std::string name;          // of the calibration
  std::string calibration;   // one that was made before, for `next` without measurements
  std::vector<Source> next;  // two runs: what would tell which is faster
};

struct CalibrateAnswer {
  CalibrationReport report;
  std::vector<OutputFile> files;
};

Result<CalibrateAnswer> ask(Session& session, CalibrateRequest request);

// A file, whatever it holds, or a folder of tables.
Result<Sources> measured_files(const Files& files, const std::string& path);

// The calibration that a request names, where it names one: a folder of calibrate's, or its file.
Result<std::optional<Calibration>> calibration_of(Session& session, const std::string& word);

}  // namespace foretrain
