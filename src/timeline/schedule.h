// The pipeline schedules: each is one function in a file of its own (schedule_NAME.cc), which opens with the
// idea, a picture and the paper. It writes the order in which one rank runs its passes; everything else about
// a schedule is how its pieces lie on ranks (job/pipeline.h).
#pragma once

#include "timeline/order.h"

namespace foretrain {

using WriteOrder = void(const PipelineShape& shape, std::int64_t rank, Orders& orders);
WriteOrder order_gpipe, order_1f1b, order_interleaved, order_zb_h1, order_zb_h2, order_zbv, order_dualpipe,
    order_dualpipev;

// The orders of all ranks. The shape has been checked (refusal() in spec/schedule_kind.h).
void write_orders(ScheduleKind kind, const PipelineShape& shape, Orders& orders);

// The most micro-batches that stage s of p holds at once under gpipe or 1f1b: begun by a forward, not yet
// ended by a backward.
std::int64_t most_in_flight(ScheduleKind kind, std::int64_t stage, std::int64_t stages,
                            std::int64_t micro_batches);

// Likewise at least, of every chunk of a stage at once, under any schedule.
std::int64_t least_in_flight(ScheduleKind kind, std::int64_t stage, std::int64_t stages,
                             std::int64_t micro_batches);

}  // namespace foretrain
