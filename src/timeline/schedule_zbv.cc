// ZB-V (Qi et al. 2023, arXiv 2401.10241, section 6; a member of the V family of Qi et al. 2024, "Pipeline
// Parallelism with Controllable Memory", arXiv 2405.15362). Each rank holds two chunks in a V: a micro-batch
// goes down the ranks through their chunk 0, turns on the last rank, and comes back up through chunk 1. Its
// loss is made on the first rank, where the backward starts at once; the backward is split into B and W as in
// ZB-H1.
//
//   rank 0   F0 F1 F2 f0 b0 w0 f1 b1 w1 F3 B0 W0 f2 b2 w2 B1 W1 f3 b3 w3 B2 W2 B3 W3     p = 2, m = 4
//   rank 1      F0 f0 F1 f1 b0 w0 F2 B0 W0 f2 b1 w1 F3 B1 W1 f3 b2 w2 B2 b3 B3 W2 w3 W3
//
// (capitals: chunk 0). With F = B = W for each chunk no rank is idle between its first and its last pass, in
// 1f1b's memory: at most 2p chunks' micro-batches, of half a stage each. The slant of (p - 1)F remains where
// ranks meet before the optimizer's step. Twice as many messages as 1f1b's. With fewer than 2p - 1
// micro-batches the order is that of 2p - 1, without those that are not there.
#include <algorithm>

#include "timeline/schedule.h"

namespace foretrain {
namespace {

// Passes by kind and chunk, up to the micro-batches there are.
class Writer {
 public:
  Writer(Orders& orders, std::int64_t micro_batches) : orders_(orders), m_(micro_batches) {}

  void forward(int chunk) { add(forwards_[chunk], PassKind::kForward, chunk); }
  void input(int chunk) { add(inputs_[chunk], PassKind::kInput, chunk); }
  void weight(int chunk) { add(weights_[chunk], PassKind::kWeight, chunk); }
  void backward(int chunk) { input(chunk), weight(chunk); }

  // Turns of one pass of each kind and chunk that a pattern repeats.
  void skip(std::int64_t turns) {
    for (std::int64_t* counts : {forwards_, inputs_, weights_}) counts[0] += turns, counts[1] += turns;
  }

  std::int64_t forwards(int chunk) const { return forwards_[chunk]; }
  std::int64_t weights(int chunk) const { return weights_[chunk]; }

 private:
  void add(std::int64_t& count, PassKind kind, int chunk) {
    if (count++ < m_) orders_.add({kind, false, static_cast<std::uint16_t>(chunk)});
  }

  Orders& orders_;
  std::int64_t m_;
  std::int64_t forwards_[2] = {0, 0};
  std::int64_t inputs_[2] = {0, 0};
  std::int64_t weights_[2] = {0, 0};
};

}  // namespace

void order_zbv(const PipelineShape& shape, std::int64_t rank, Orders& orders) {
  const std::int64_t p = shape.ranks, m = shape.micro_batches, n = std::max(m, 2 * p - 1);
  Writer write(orders, m);
  for (std::int64_t i = 0; i < 2 * (p - rank) - 1; ++i) write.forward(0);
  for (std::int64_t i = 0; i < rank; ++i) write.forward(1), write.forward(0);
  for (std::int64_t i = 0; i < p - rank; ++i) write.forward(1), write.backward(1);

  // One turn of each chunk; first with new forwards, then with those that are on their way. The turns of many
  // micro-batches are written once.
  const auto turn = [&] { write.forward(0), write.backward(0), write.forward(1), write.backward(1); };
  if (const std::int64_t turns = n - write.forwards(0); m == n && turns > 0) {
    orders.begin_pattern();
    turn();
    orders.end_pattern(turns);
    write.skip(turns - 1);
  }
  while (write.forwards(0) < n) turn();
  while (write.forwards(1) < n) write.backward(0), write.forward(1), write.backward(1);

  for (std::int64_t i = 0; i < rank; ++i) write.input(0), write.input(1);
  for (std::int64_t i = 0; i < p - rank; ++i) write.backward(0);
  while (write.weights(1) < n) write.weight(1);
  while (write.weights(0) < n) write.weight(0);
}

}  // namespace foretrain
