// DualPipe (DeepSeek-V3 technical report, arXiv 2412.19437, section 3.2.1; the order of its published
// implementation). Two copies of the model lie over the ranks in opposite directions, and micro-batches enter
// from both ends. In the middle of the step each rank always has a forward of one direction and a backward of
// the other to run as a pair, whose computation can hide the other's communication. Beside the pairs the
// backward is split where that fills the bubble. A rank's order is eight steps; with H = p/2, h the distance
// to the nearer end, and small letters for the direction that comes from the far end:
//
//   1  2(H - h - 1)      F                    5  H - h - 1    b, f+B
//   2  h + 1             F f                  6  h + 1        b B, split from the middle on
//   3  H - h - 1         b w f                7  H - h - 1    W B, the oldest W there is
//   4  m/2 - p + h + 1   F+b, f+B             8  h + 1        W, likewise
//
//   rank 0   F0 F1 F2 f0 b0 w0 f1 F3+b1 f2+B0 b2 f3+B1 b3 B2 W2 B3 W3                 p = 4, m = 8
//   rank 1   F0 f0 F1 f1 F2 b0 f2+B0 F3+b1 f3+B1 b2 B2 b3 B3 w3 W3
//
// (ranks 2 and 3 mirror 1 and 0; a b or B without its w or W is whole).
//
// With B a whole backward, W its weight half and F&B the time of a pair, the published bubble is
// (p/2 - 1)(F&B + B - 3W). Here a pair takes F + B. Each rank holds the weights of two stages, and at most p
// + 1 micro-batches. It needs an even p, and 2p micro-batches or more, in an even number.
#include "timeline/schedule_dualpipe.h"

namespace foretrain {
namespace {

// Passes of the near direction (0) and the far one (1), with the weights' passes that have been put off.
class Writer {
 public:
  Writer(Orders& orders, bool swapped) : orders_(orders), swapped_(swapped) {}

  void forward(int direction) { add(PassKind::kForward, direction); }
  void backward(int direction) { add(PassKind::kBackward, direction); }
  void pair(int direction) {
    orders_.add({PassKind::kForward, true, chunk(direction)});
    backward(1 - direction);
  }

  // A backward to inputs; its weights are put off.
  void input(int direction) {
    add(PassKind::kInput, direction);
    if (put_off_[0] + put_off_[1] == 0) oldest_ = direction;
    ++put_off_[direction];
  }
  // The oldest of those put off. They were put off in turns, as long as there are any of the far direction.
  void weight() {
    add(PassKind::kWeight, oldest_);
    --put_off_[oldest_];
    if (put_off_[1 - oldest_] > 0) oldest_ = 1 - oldest_;
  }

 private:
  std::uint16_t chunk(int direction) const {
    return static_cast<std::uint16_t>(swapped_ ? 1 - direction : direction);
  }
  void add(PassKind kind, int direction) { orders_.add({kind, false, chunk(direction)}); }

  Orders& orders_;
  bool swapped_;
  std::int64_t put_off_[2] = {0, 0};
  int oldest_ = 0;
};

}  // namespace

void order_eight_steps(std::int64_t half, std::int64_t h, std::int64_t micro_batches, bool swapped,
                       Orders& orders) {
  Writer write(orders, swapped);
  const std::int64_t behind = half - h - 1;  // ranks between this one and the middle
  for (std::int64_t i = 0; i < 2 * behind; ++i) write.forward(0);
  for (std::int64_t i = 0; i < h + 1; ++i) write.forward(0), write.forward(1);
  for (std::int64_t i = 0; i < behind; ++i) write.input(1), write.weight(), write.forward(1);

  // In the middle the first two passes are not paired, so that the other half gets its message sooner.
  const std::int64_t turns = micro_batches - 2 * half + h + 1;
  if (behind == 0) {
    write.forward(0), write.backward(1);
  } else {
    write.pair(0);
  }
  write.pair(1);
  orders.begin_pattern();
  write.pair(0), write.pair(1);
  orders.end_pattern(turns - 1);

  for (std::int64_t i = 0; i < behind; ++i) write.backward(1), write.pair(1);
  bool split = false;
  for (std::int64_t i = 0; i < h + 1; ++i) {
    for (const int direction : {1, 0}) {
      split = split || (i == (h + 1) / 2 && direction == h % 2);
      split ? write.input(direction) : write.backward(direction);
    }
  }
  for (std::int64_t i = 0; i < behind; ++i) write.weight(), write.input(0);
  for (std::int64_t i = 0; i < h + 1; ++i) write.weight();
}

void order_dualpipe(const PipelineShape& shape, std::int64_t rank, Orders& orders) {
  const std::int64_t half = shape.ranks / 2;
  const bool far_half = rank >= half;
  order_eight_steps(half, far_half ? shape.ranks - 1 - rank : rank, shape.micro_batches, far_half, orders);
}

}  // namespace foretrain
