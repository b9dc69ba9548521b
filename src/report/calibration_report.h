// What calibrate learned, and how an answer stands on it.
//
//   calibration  mine: of dgx-h100 (h100-80gb-sxm), 3 runs
//   factor           takes times      80 % interval  before
//   products               1.081     1.052 to 1.110  0.880 to 1.136
//   ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "calibrate/learn.h"
#include "calibrate/next_measurement.h"

namespace foretrain {

struct CalibrationReport {
  Calibration calibration;
  std::vector<Remark> remarks;
  std::string written;                  // the folder; empty: none
  std::optional<NextMeasurement> next;  // of two runs that were asked about
};

std::string calibration_text(const CalibrationReport& report);
// Of what was learned, where anything was, and of what to measure next.
std::string calibration_json(const CalibrationReport& report);

// Of an answer: a line alone, "mine, of 1 run (train.log): settles 27 % of the variance; nearest to train.log, a run of this
// kind"; lines of a text; and the value of its key `calibration`.
std::string standing_words(const Standing& standing);
std::string standing_text(const Standing& standing);
void put_standing(JsonWriter& w, const Standing& standing);

}  // namespace foretrain
