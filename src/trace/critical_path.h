// What a step waits for: the chain of passes, messages, reductions and updates that ends with the step and in
// which each begins where the one before it ends. To shorten the step, shorten one of these.
//
// It is found backward from the step's end. A pass begins when the rank has ended what it did before and the
// message has come: whichever was later is the link before it (the rank's own work where both are). A
// bucket's reduction may begin inside the pass that completes it, which is then a link up to that moment.
#pragma once

#include <array>
#include <vector>

#include "trace/trace_index.h"

namespace foretrain {

struct PathLink {
  std::int32_t event = -1;  // of the trace; -1: nothing that was recorded, a wait
  std::int64_t rank = 0;
  Seconds from;
  Seconds to;
};

struct CriticalPath {
  std::vector<PathLink> links;                      // from 0 to the step's end
  std::array<Seconds, kStepCauseCount> by_cause{};  // sums to the step
  std::vector<Seconds> by_rank;                     // likewise
};

CriticalPath critical_path(const StepTrace& trace, const TraceIndex& index);

}  // namespace foretrain
