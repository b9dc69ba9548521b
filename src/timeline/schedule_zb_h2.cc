// ZB-H2 (Qi et al. 2023, arXiv 2401.10241, section 2.2): as ZB-H1, with a warm-up twice as long, so that the
// first B finds every rank at work, and with W put off twice as far, so that the last B leaves every rank
// with work.
//
//   rank 0   F0 F1 F2 F3 F4 B0 W0 F5 B1 W1 B2 W2 B3 W3 B4 W4 B5 W5     p = 3, m = 6, F = B = W
//   rank 1      F0 F1 F2 B0 F3 B1 F4 B2 W0 F5 B3 W1 B4 W2 B5 W3 W4 W5
//   rank 2         F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 W0 F5 B5 W1 W2 W3 W4 W5
//
// With F = B = W no rank is idle between its first and its last pass; in general the bubble is (p - 1)(F + B
// - 2W) where that is positive. What remains is the slant: rank r starts and ends r forwards later, which
// costs (p - 1)F as long as all ranks meet before the optimizer's step (the paper validates after it
// instead). It needs 2p - 1 micro-batches. Rank r holds at most 2(p - r) - 1 micro-batches for B and 2r for
// W.
#include "timeline/schedule.h"

namespace foretrain {

void order_zb_h2(const PipelineShape& shape, std::int64_t rank, Orders& orders) {
  const Orders::Lagging pattern[] = {{{PassKind::kForward}, 0},
                                     {{PassKind::kInput}, 2 * (shape.ranks - 1 - rank)},
                                     {{PassKind::kWeight}, 2 * (shape.ranks - 1)}};
  orders.add_lagging(pattern, shape.micro_batches);
}

}  // namespace foretrain
