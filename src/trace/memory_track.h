// A rank's tensors over one step, as its events add and release them: torch's allocated counter over time.
// What a pass uses for itself counts from its start to its end, so the largest value is the rank's peak, and
// the event that has it is the peak's cause.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_index.h"

namespace foretrain {

struct MemoryPoint {
  Seconds at;
  Bytes allocated;          // from then on
  Bytes held;               // of it, for backwards
  std::int32_t event = -1;  // that begins or ends then; -1: the start of the step
};

std::vector<MemoryPoint> memory_track(const StepTrace& trace, std::int64_t rank);

// Where it is largest, the first of equals.
MemoryPoint peak_of(const std::vector<MemoryPoint>& track);

}  // namespace foretrain
