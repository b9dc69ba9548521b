// A step as a picture: a row a stage, a box a pass, with a title for who points at it, and the critical path
// as a line through the boxes. Where there are too many boxes, each column of the picture shows what it is
// mostly.
#pragma once

#include <string>
#include <string_view>

#include "report/step_view.h"

namespace foretrain {

// Its colours, for the page's style.
extern const std::string_view kGanttStyle;

std::string gantt_svg(const StepView& view);
std::string gantt_legend(const StepView& view);  // what its colours mean, those that occur

}  // namespace foretrain
