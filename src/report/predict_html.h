// A prediction as one page that needs nothing else: the summary, where the time goes, the step as a chart
// (with titles on hover), memory by stage, the critical path.
#pragma once

#include <string>

#include "calibrate/calibration.h"
#include "report/step_view.h"
#include "report/training.h"
#include "spec/run.h"

namespace foretrain {

std::string predict_html(const Run& run, const Prediction& prediction, const StepView& view,
                         const Training* whole = nullptr, const Standing* standing = nullptr);

}  // namespace foretrain
