// Plans that train the same thing as a run's own and differ from it in one choice: a degree doubled or halved, a level of
// ZeRO, what is run again, a flag of the framework turned over. What the training computes (batch, sequence, formats,
// optimizer) is left as it is. Each is legal and one that the run's stack launches; whether it fits is not asked here.
#pragma once

#include <string_view>
#include <vector>

#include "spec/run.h"

namespace foretrain {

struct OneChange {
  std::string_view choice;  // which was made otherwise: "recompute"
  Run run;                  // checked
};

// REQUIRES: `run` is checked
std::vector<OneChange> one_change_away(const Run& run);

}  // namespace foretrain
