#include "timeline/schedule.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {
namespace {

WriteOrder& writer(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kGpipe:
      return order_gpipe;
    case ScheduleKind::k1f1b:
      return order_1f1b;
    case ScheduleKind::kInterleaved:
      return order_interleaved;
    case ScheduleKind::kZbH1:
      return order_zb_h1;
    case ScheduleKind::kZbH2:
      return order_zb_h2;
    case ScheduleKind::kZbv:
      return order_zbv;
    case ScheduleKind::kDualpipe:
      return order_dualpipe;
    case ScheduleKind::kDualpipev:
      return order_dualpipev;
  }
  CHECK_THAT(false);
  return order_1f1b;
}

}  // namespace

void write_orders(ScheduleKind kind, const PipelineShape& shape, Orders& orders) {
  WriteOrder& write = writer(kind);
  orders.clear();
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    orders.next_rank();
    write(shape, rank, orders);
  }
}

std::int64_t most_in_flight(ScheduleKind kind, std::int64_t stage, std::int64_t stages,
                            std::int64_t micro_batches) {
  return kind == ScheduleKind::kGpipe ? micro_batches : std::min(micro_batches, stages - stage);
}

// Of interleaved when its warm-up ends: lower chunks have had a group of p, the last one what is left.
std::int64_t least_in_flight(ScheduleKind kind, std::int64_t stage, std::int64_t stages,
                             std::int64_t micro_batches) {
  switch (kind) {
    case ScheduleKind::kGpipe:
      return micro_batches;
    case ScheduleKind::k1f1b:
    case ScheduleKind::kZbH1:
    case ScheduleKind::kZbH2:
      return std::min(micro_batches, stages - stage);
    case ScheduleKind::kInterleaved:
      return std::min({micro_batches, stages, 2 * (stages - 1 - stage) + 1});
    default:
      return 1;
  }
}

}  // namespace foretrain
