// What an evaluated step says to its reader: counters, breakdown, stages.
#pragma once

#include <cstdint>

#include "cost/governor.h"
#include "job/setting.h"
#include "predict/evaluation.h"
#include "predict/prediction.h"

namespace foretrain {

// Of a step that has been simulated; power as the costs know it, or null.
Prediction assemble(const Setting& setting, const PowerModel* power, const Simulated& e);

}  // namespace foretrain
