// A step as a chart for the terminal, a line a stage:
//
//   the step, a column 160 ms
//            0 s                 3.2 s               6.4 s               9.6 s               12.8 s
//            |                   |                   |                   |                   |
//   stage 1  00112233......aa44bb55cc66dd77ee88ff99gg00hh11ii22jj33aa44bb55ccdd...eerrrrrrrrrroggg
//   stage 2  ..00112233..aa44...
//   0-9 forward of a micro-batch (its last digit), a-j backward (a is 0), > message, . waiting, ...
//
// Each column shows what its time is mostly. Where passes are shorter than columns, a second chart shows the
// beginning and the end of the passes at a scale at which each is seen.
#pragma once

#include <cstdint>
#include <string>

#include "report/step_view.h"

namespace foretrain {

struct ChartStyle {
  int width = 100;       // columns in all
  bool unicode = false;  // shades for backwards, dots for waits
};

// `length`, where it is longer than the step: the time of the whole width, so that charts compare.
std::string chart_text(const StepView& view, const ChartStyle& style, Seconds length = Seconds(0));

}  // namespace foretrain
