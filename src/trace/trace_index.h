// Who caused what in a step, found again from its events: which way each message goes, and which pass or
// message belongs to a micro-batch of a piece.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predict/step_trace.h"
#include "trace/events.h"

namespace foretrain {

class TraceIndex {
 public:
  explicit TraceIndex(const StepTrace& trace);

  // Whether a pass or message goes down the model (forward) or up (backward).
  bool down(std::int32_t event) const { return down_[static_cast<std::size_t>(event)]; }
  // The forward (down) or the backward, whole or to inputs; the message that follows it; -1: none.
  std::int32_t pass(std::int64_t piece, std::int64_t micro_batch, bool down) const {
    return entry(piece, micro_batch, down).pass;
  }
  std::int32_t send(std::int64_t piece, std::int64_t micro_batch, bool down) const {
    return entry(piece, micro_batch, down).send;
  }
  // The piece whose message a pass of this piece needs; -1: none. The last piece's backward follows its own
  // forward.
  std::int64_t sender(std::int64_t piece, bool down) const;
  std::int64_t receiver(std::int64_t piece, bool down) const;  // -1: none

  // A rank's events by the time at which they start.
  std::span<const std::int32_t> rank(std::int64_t rank) const {
    return ranks_[static_cast<std::size_t>(rank)];
  }

 private:
  struct Entry {
    std::int32_t pass = -1;
    std::int32_t send = -1;
  };
  const Entry& entry(std::int64_t piece, std::int64_t micro_batch, bool down) const {
    return entries_[static_cast<std::size_t>((piece * micro_batches_ + micro_batch) * 2 + (down ? 0 : 1))];
  }

  Pipeline pipeline_;
  std::int64_t micro_batches_;
  std::vector<Entry> entries_;
  std::vector<bool> down_;
  std::vector<std::vector<std::int32_t>> ranks_;
};

}  // namespace foretrain
