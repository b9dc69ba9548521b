// What a step waits for, and what each stage does meanwhile, as text:
//
//   critical path (what the step waits for, beginning to end)
//                        s     %
//     backward       8.120  46.7  ###################
//     ...
//     F0 on 1, send, F0 on 2, send, F0 on 3, B0, F1, B1 ... (58 more) ... B15 on 1, gradient reduce,
//     optimizer
//   bubble 12.3 %: how much of the time stages wait while the pipeline runs
//
//   what each stage does (s; up to the gather these sum to the step)
//     stage  passes  messages  wait act.  wait grad.  reduce  wait stages  optimizer  gather  on the path ...
//     1       8.050     0.178      0.000       2.202   3.965        0.054      0.013   1.982        4.479
#pragma once

#include <string>
#include <vector>

#include "report/step_view.h"

namespace foretrain {

std::string path_text(const StepView& view, const Prediction& prediction);

// "F0 on 1", "send", "F0 on 2", "... 31 more ...", "B7 on 1": the first and last links, a stage named where
// it changes.
std::vector<std::string> path_names(const StepView& view, std::size_t shown);

// What each stage does, as cells below heads; columns without any time are left out.
struct StageCells {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};
StageCells stage_cells(const StepView& view, const Prediction& prediction);

}  // namespace foretrain
