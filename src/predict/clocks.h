// The clock of every rank, settled by a governor (cost/governor.h) over all that the rank does in a step.
// A rank's load is a step of its passes and its update. It waits while it fills and drains the pipeline, and
// for the slowest rank; collectives between steps are left out. Energy of collectives inside passes counts at
// their own power. All ranks of a stage go at the pace of the job's slowest card.
#pragma once

#include "cost/governor.h"
#include "predict/evaluation.h"
#include "spec/gpu.h"

namespace foretrain {

// Of ranks whose passes and updates are laid out. Null: the costs do not know what power does; clocks stay.
void settle_clocks(const Gpu& gpu, const PowerModel* power, Timed& e);

}  // namespace foretrain
