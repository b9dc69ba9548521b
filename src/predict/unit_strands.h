// What the passes of a layer or an end of the model take at least, by rows of work (shape_floors.h), with the seconds of
// shards priced where they lie. Sums of units are sums of their rows; of a pass the longest row counts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "predict/clock_floor.h"
#include "predict/shape_floors.h"
#include "segment/contention.h"

namespace foretrain {

// Of one pass: operators and what stops them; all exchanges; all of shards, slowed down by operators; and operators,
// slowed down by what of shards is hidden behind them.
struct Strands {
  std::array<double, 4> of{};
  // What a chunk's first unit waits for before its work begins, and its last when it is over.
  double first_gather = 0, last_scatter = 0;

  void add(const Strands& other, double times) {
    for (std::size_t i = 0; i < of.size(); ++i) of[i] += other.of[i] * times;
  }
  std::size_t longest() const {
    return static_cast<std::size_t>(std::max_element(of.begin(), of.end()) - of.begin());
  }
};

// Of R seconds hidden behind operators, what they add to these; and of operators, to what is hidden. Neither counts as more than
// its own length: where both run at less than half their speed, a step is shortest if they never meet.
constexpr double hidden_slows(const SlowDown& slow) {
  return std::min(slow.collective * (1 - 1 / slow.compute), 1.0);
}
constexpr double operators_slow(const SlowDown& slow) {
  return std::min(slow.compute * (1 - 1 / slow.collective), 1.0);
}

// What a second that a chunk waits for shards adds to a row: to the last, less than if it were hidden.
constexpr double waiting_share(std::size_t row, const SlowDown& slow) {
  return row == 0 ? 1.0 : row == 3 ? 1 - hidden_slows(slow) : 0.0;
}

// Of both passes.
struct UnitStrands {
  Strands forward, backward;
  UnitLoad load;  // its seconds are those of two of the rows

  // With one of the rows of its forward and one of its backward.
  UnitLoad by_rows(std::size_t f, std::size_t b) const {
    UnitLoad out = load;
    out.seconds = forward.of[f] + backward.of[b];
    return out;
  }
};
// `slows`: whatever hides something is slowed down by it as by a collective of NCCL.
UnitStrands strands_of(const LeastUnit& unit, const Network& network, bool slows);

}  // namespace foretrain
