// Interleaved 1F1B (Narayanan et al. 2021, arXiv 2104.04473, section 2.2) in the order of Megatron-LM
// (megatron/core/pipeline_parallel/schedules.py): each rank holds v chunks, dealt in turns, and takes the
// micro-batches in groups of p: a group through its chunk 0, the same group through chunk 1, and so on. With
// forward k standing for place k of that sequence, and backward k likewise with the chunks reversed, it is
// 1f1b with a longer warm-up: 2(p - 1 - r) + (v - 1)p forwards on rank r.
//
//   rank 0   F0 F1 f0 f1 F2 b0 F3 b1 f2 B0 f3 B1 b2 b3 B2 B3        p = 2, v = 2, m = 4; small: chunk 1
//   rank 1   F0 F1 f0 b0 f1 b1 F2 B0 F3 B1 f2 b2 f3 b3 B2 B3
//
// With equal chunks of forward f and backward b the bubble is (p - 1)(f + b), a v-th of 1f1b's, or (p - 1)/(m
// v) of the work; each message is sent v times as often, from the last rank round to the first too. Rank r
// holds at most 2(p - 1 - r) + (v - 1)p + 1 chunks' micro-batches, of 1/v of a stage each. Megatron-LM
// refuses micro-batches that are not a multiple of p (its groups may be of another size by an option, not
// modelled).
#include <algorithm>

#include "timeline/schedule.h"

namespace foretrain {

void order_interleaved(const PipelineShape& shape, std::int64_t rank, Orders& orders) {
  const std::int64_t p = shape.ranks, v = shape.chunks;
  const std::int64_t total = shape.micro_batches * v;
  const std::int64_t warm_up = std::min(total, 2 * (p - 1 - rank) + (v - 1) * p);
  const auto forward = [&](std::int64_t k) {
    orders.add({PassKind::kForward, false, static_cast<std::uint16_t>(k / p % v)});
  };
  const auto backward = [&](std::int64_t k) {
    orders.add({PassKind::kBackward, false, static_cast<std::uint16_t>(v - 1 - k / p % v)});
  };
  for (std::int64_t k = 0; k < warm_up; ++k) forward(k);
  // Turns repeat when both sequences have gone once through all chunks.
  const std::int64_t turns = total - warm_up, period = p * v, whole = turns / period;
  orders.begin_pattern();
  for (std::int64_t k = 0; whole > 0 && k < period; ++k) forward(warm_up + k), backward(k);
  orders.end_pattern(whole);
  for (std::int64_t k = whole * period; k < turns; ++k) forward(warm_up + k), backward(k);
  for (std::int64_t k = turns; k < total; ++k) backward(k);
}

}  // namespace foretrain
