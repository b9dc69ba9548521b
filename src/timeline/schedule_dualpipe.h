// The eight steps that DualPipe and DualPipeV share (schedule_dualpipe.cc).
#pragma once

#include "timeline/schedule.h"

namespace foretrain {

// Of the rank at distance h from its end, with `half` ranks from there to the middle, `micro_batches` in each
// direction; the near direction is chunk 0, or chunk 1 if swapped.
void order_eight_steps(std::int64_t half, std::int64_t h, std::int64_t micro_batches, bool swapped,
                       Orders& orders);

}  // namespace foretrain
