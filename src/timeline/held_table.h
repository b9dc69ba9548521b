// What a rank's order holds, tabulated: at each moment of it, so many micro-batches of each chunk wait for their
// backward, and so many for their backward to weights. Bytes are linear in these counts,
//   bytes = sum over chunks c of (waiting for backward)_c held_c + (waiting for weights)_c held_for_weight_c + extra
// with an extra that hangs on the pass and its chunk alone. So of the moments of one pass only those can be the peak,
// whatever the bytes, that no other exceeds in all counts and that do not lie between two others on a line: a handful
// of a rank's hundreds. They serve every plan that runs in this order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "timeline/order.h"
#include "timeline/work.h"

namespace foretrain {

class HeldTable {
 public:
  struct Moment {
    PassKind kind = PassKind::kForward;
    bool at_end = false;
    std::uint16_t chunk = 0;
  };

  // Of a rank with so many chunks.
  HeldTable(const Orders& orders, std::int64_t rank, std::int64_t chunks);

  // In the order in which they come.
  std::span<const Moment> moments() const { return moments_; }
  // By chunk: those that wait for a backward; where the order splits some, then those that wait for weights.
  std::span<const std::int32_t> counts(std::size_t moment) const {
    return std::span(counts_).subspan(moment * width_, width_);
  }
  std::size_t width() const { return width_; }  // counts of a moment
  // Of four bytes, all that it takes; of each vector some for the allocator's own.
  std::size_t words() const {
    return moments_.size() + counts_.size() + 2 * most_.size() + 4 * backwards_.size() +
           sizeof(HeldTable) / 4 + 16;
  }

  // Whatever the bytes are: see Footprint.
  std::int64_t in_flight() const { return in_flight_; }
  std::span<const std::int64_t> most() const { return most_; }
  std::span<const ChunkCounts> backwards() const { return backwards_; }

 private:
  class Writer;

  std::size_t width_ = 0;
  std::vector<Moment> moments_;
  std::vector<std::int32_t> counts_;
  std::int64_t in_flight_ = 0;
  std::vector<std::int64_t> most_;
  std::vector<ChunkCounts> backwards_;
};

}  // namespace foretrain
