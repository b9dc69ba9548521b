// DualPipeV: DualPipe cut in half (Sea AI Lab 2025, hackmd.io/@ufotalent/r1lVXsa9Jg; published beside
// DualPipe). The second half of DualPipe's ranks mirrors the first, so it can be left out: p ranks hold 2p
// chunks in a V, and what came from the far end comes back from the last rank. The eight steps are DualPipe's
// for H = p, with the m micro-batches of one direction:
//
//   rank 0   F0 F1 F2 f0 b0 w0 f1 F3+b1 f2+B0 F4+b2 f3+B1 b3 f4+B2 b4 B3 W3 B4 W4     p = 2, m = 5
//   rank 1      F0 f0 F1 f1 F2 b0 f2+B0 F3+b1 f3+B1 F4+b2 f4+B2 b3 B3 b4 B4 w4 W4      (small: chunk 1)
//
// The bubble is DualPipe's of 2p stages, (p - 1)(F&B + B - 3W) for a chunk's times; weights are held once,
// and at most 2p + 1 chunks' micro-batches. It needs 2p micro-batches or more.
#include "timeline/schedule_dualpipe.h"

namespace foretrain {

void order_dualpipev(const PipelineShape& shape, std::int64_t rank, Orders& orders) {
  order_eight_steps(shape.ranks, rank, shape.micro_batches, false, orders);
}

}  // namespace foretrain
