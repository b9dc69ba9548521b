// What a plan takes at least, however its layers are split and whatever overlaps: a search leaves out whole
// families of plans by it.
#pragma once

#include "base/units.h"
#include "job/job.h"
#include "network/network.h"
#include "predict/chunk_memo.h"

namespace foretrain {

// A bound adds up what the simulation does, in another order: this much less, it is one in spite of rounding.
inline constexpr double kBelowRounding = 1 - 1e-11;

struct PlanFloor {
  Seconds step;  // its operators alone, all stages equally busy
  Bytes peak;    // its states, or its layers' and what their forwards keep, dealt over stages to the best
};

// Leaves another shape in use.
PlanFloor plan_floor(const Setting& setting, const Job& job, const Network& network, ChunkMemo& memo);

}  // namespace foretrain
