// ZB-H1 (Qi et al. 2023, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 2.1). A backward is
// two passes: B makes the gradient of the stage's input, which the rank before waits for; W makes the
// gradients of its weights, for which nobody waits. So B goes first, and W fills what would be idle. On every
// rank W lags p - 1 micro-batches behind the forward, so that as much is held as on 1f1b's first rank.
//
//   rank 0   F0 F1 F2 .  .  B0 W0 F3 B1 W1 .  B2 W2 .  B3 W3           p = 3, m = 4, F = B = W
//   rank 1      F0 F1 .  B0 F2 B1 W0 F3 B2 W1 .  B3 W2 W3
//   rank 2         F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3
//
// With equal stages, and W no longer than the passes around it, the bubble is (p - 1)(F + B - W): with F = B
// = W a third of 1f1b's (p - 1)(F + B + W). Rank r holds at most p - r micro-batches for B and r for W.
#include "timeline/schedule.h"

namespace foretrain {

void order_zb_h1(const PipelineShape& shape, std::int64_t rank, Orders& orders) {
  const Orders::Lagging pattern[] = {{{PassKind::kForward}, 0},
                                     {{PassKind::kInput}, shape.ranks - 1 - rank},
                                     {{PassKind::kWeight}, shape.ranks - 1}};
  orders.add_lagging(pattern, shape.micro_batches);
}

}  // namespace foretrain
