// The pipeline schedules: each is one function in a file of its own (schedule_NAME.cc), which opens with the
// idea, a picture and the paper. It writes the order in which one rank runs its passes; everything else about
// a schedule is how its chunks lie on ranks.
//
// The pieces of the model, in its order from the embedding on, are its nodes. Each rank holds `chunks` of
// them:
//            in turns         in a V             both ways
//            (interleaved)    (zbv, dualpipev)   (dualpipe)
//   rank 0   node 0  3  6     node 0  5          node 0  5, the last of the second copy
//   rank 1   node 1  4  7     node 1  4          node 1  4
//   rank 2   node 2  5  8     node 2  3          node 2  3, the first of the second copy
// The nodes of dualpipe are two copies of a model of p pieces, each for half of the micro-batches.
#pragma once

#include "timeline/order.h"

namespace foretrain {

struct Placement {
  ScheduleKind kind = ScheduleKind::k1f1b;
  std::int64_t ranks = 1;
  std::int64_t chunks = 1;

  std::int64_t nodes() const { return ranks * chunks; }
  std::int64_t node(std::int64_t rank, std::int64_t chunk) const {
    return chunk == 1 && lies_in_v(kind) ? 2 * ranks - 1 - rank : chunk * ranks + rank;
  }
  std::int64_t rank(std::int64_t node) const {
    return node >= ranks && lies_in_v(kind) ? 2 * ranks - 1 - node : node % ranks;
  }
  std::int64_t chunk(std::int64_t node) const { return node / ranks; }
  // Whether a node is at the beginning or end of a model.
  bool first(std::int64_t node) const { return node == 0 || (runs_both_ways(kind) && node == ranks); }
  bool last(std::int64_t node) const {
    return node == nodes() - 1 || (runs_both_ways(kind) && node == ranks - 1);
  }
};

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
