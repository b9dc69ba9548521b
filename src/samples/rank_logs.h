// Logs of several ranks of one run, a file each, as one log. Ranks of a run keep step with each other, so the figures are those
// of the log that tells most steps; memory is the highest of any, and how far the ranks' steps are apart is kept.
#pragma once

#include <vector>

#include "samples/training_log.h"

namespace foretrain {

// Whether two logs may be of one run: the same trainer, steps in common, the same total and batch, and no argument of those
// that describe a run stated in two ways.
bool is_same_run(const TrainingLog& a, const TrainingLog& b);

// At least one log, all of one run.
TrainingLog joined_ranks(std::vector<TrainingLog> logs);

}  // namespace foretrain
