// 1F1B, or PipeDream-Flush (Narayanan et al. 2021, arXiv 2104.04473, section 2.2): a rank warms up with as
// many forwards as ranks follow it, then runs one forward and one backward in turn, then the remaining
// backwards.
//
//   rank 0   F0 F1 F2 .  .  B0 B0 F3 B1 B1 .  B2 B2 .  B3 B3           p = 3, m = 4
//   rank 1      F0 F1 .  B0 B0 F2 B1 B1 F3 B2 B2 .  B3 B3
//   rank 2         F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3
//
// The time is gpipe's, (m + p - 1)(F + B) with equal stages, but rank r holds min(m, p - r) micro-batches
// only.
#include "timeline/schedule.h"

namespace foretrain {

void order_1f1b(const PipelineShape& shape, std::int64_t rank, Orders& orders) {
  const Orders::Lagging pattern[] = {{{PassKind::kForward}, 0},
                                     {{PassKind::kBackward}, shape.ranks - 1 - rank}};
  orders.add_lagging(pattern, shape.micro_batches);
}

}  // namespace foretrain
