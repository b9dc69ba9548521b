// GPipe (Huang et al. 2019, arXiv 1811.06965): all forwards, then all backwards.
//
// p = 3, m = 3, a backward takes twice a forward:
//   rank 0   F0 F1 F2 .  .  .  .  .  .  .  .  B0 B0 B1 B1 B2 B2
//   rank 1      F0 F1 F2 .  .  .  .  .  B0 B0 B1 B1 B2 B2
//   rank 2         F0 F1 F2 B0 B0 B1 B1 B2 B2
//
// Equal stages take (m + p - 1)(F + B); the bubble is (p - 1)/m of the work. Every rank holds all m
// micro-batches. Backwards run in the order of the forwards.
#include "timeline/schedule.h"

namespace foretrain {

void order_gpipe(const PipelineShape& shape, std::int64_t, Orders& orders) {
  const Orders::Lagging pattern[] = {{{PassKind::kForward}, 0}, {{PassKind::kBackward}, shape.micro_batches}};
  orders.add_lagging(pattern, shape.micro_batches);
}

}  // namespace foretrain
