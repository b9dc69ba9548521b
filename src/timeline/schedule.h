// The order in which a stage runs its passes.
//   gpipe: all forwards, then all backwards (Huang et al. 2019, arXiv 1811.06965).
//   1f1b:  min(m, p - 1 - s) forwards, then one forward and one backward in turn, then the remaining
//          backwards (PipeDream-Flush; Narayanan et al. 2021, arXiv 2104.04473). Stage s holds at most
//          min(m, p - s) micro-batches.
// Both take micro-batches in their order, backwards too.
#pragma once

#include <cstdint>

#include "spec/plan.h"

namespace foretrain {

struct ScheduledPass {
  bool forward = true;
  std::int64_t micro_batch = 0;
};

// The k-th of the 2 m passes of stage s of p.
ScheduledPass pass_at(ScheduleKind kind, std::int64_t stage, std::int64_t stages, std::int64_t micro_batches,
                      std::int64_t k);

// The most micro-batches that stage s holds at once: begun by a forward, not yet ended by a backward.
std::int64_t most_in_flight(ScheduleKind kind, std::int64_t stage, std::int64_t stages,
                            std::int64_t micro_batches);

}  // namespace foretrain
