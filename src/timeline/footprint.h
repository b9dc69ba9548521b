// What orders hold, whatever their timing: each rank's peak of bytes, the micro-batches in flight, and how
// backwards are split. What a phase adds and takes is the same in each of its repeats, so its peak is in the
// first or in the last of them, and the others need not be gone through. Of a schedule's own orders the moments that
// may be the peak are tabulated (held_table.h), and the bytes of each are worked out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "timeline/order_book.h"
#include "timeline/work.h"

namespace foretrain {

struct RankFootprint {
  Bytes peak;  // the rule stands at ChunkLoad, work.h
  PeakMoment moment;
  // Most micro-batches begun by a forward and not ended by a backward, over all chunks.
  std::int64_t in_flight = 0;
};

class Footprint {
 public:
  void measure(const PipelineWork& work, const Orders& orders);
  void measure(const PipelineWork& work, OrderBook& book);  // which is open at the orders of the work

  std::span<const RankFootprint> ranks() const { return ranks_; }
  std::span<const std::int64_t> in_flight() const { return most_; }  // the most, piece by piece
  // At the peak of a piece's rank: forwards whose backward (to inputs) is to come or runs, and of those that
  // wait for their backward to weights.
  std::span<const std::int64_t> held_at_peak() const { return at_peak_; }
  std::span<const std::int64_t> waiting_at_peak() const { return waiting_at_peak_; }
  std::span<const ChunkCounts> backwards() const { return backwards_; }

 private:
  class Walk;
  void begin(const PipelineWork& work);
  void walk_through(const PipelineWork& work, const Orders& orders, const Pipeline& pipeline,
                    std::int64_t rank);
  bool hold_by_table(const PipelineWork& work, const HeldTable& table, const Pipeline& pipeline,
                     std::int64_t rank);
  bool hold_equal_chunks(const PipelineWork& work, const Pipeline& pipeline, std::int64_t rank);

  std::vector<RankFootprint> ranks_;
  std::vector<std::int64_t> now_, before_, most_, waiting_, waiting_before_, at_peak_, waiting_at_peak_;
  std::vector<ChunkCounts> backwards_;
  std::vector<const ChunkLoad*> loads_;  // of a rank's chunks
  std::vector<double> held_;             // by each, for a backward, then for weights
};

}  // namespace foretrain
