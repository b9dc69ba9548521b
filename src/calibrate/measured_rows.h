// Rows of a measured-runs table as measurements of a cluster. A row that is scored can teach; one that is left out, or was in
// a broken state by its own figures, cannot. Where a row tells how long its forwards, backwards and update took, these three
// teach in place of the step, which is their sum.
#pragma once

#include <optional>
#include <string>

#include "calibrate/learn.h"
#include "cost/profile_store.h"
#include "validate/row_score.h"

namespace foretrain {

// Why a scored row cannot teach; empty: it can.
std::string unfit_to_teach(const RowScore& row);

// REQUIRES: a row that can teach
Measured measured_of(const RowScore& score, const MeasuredRow& row, std::shared_ptr<const CostSource> costs);

// A row's score as a calibration has it: its prediction, interval and memory verdict. The parts stay as they were.
void calibrate_score(const Calibration& calibration, const std::shared_ptr<const CostSource>& costs,
                     RowScore& row);

}  // namespace foretrain
