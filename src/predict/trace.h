// One step as the timeline ran it, with what its passes are made of: what every view of a step listens to.
// Recorded only for who asks (Evaluator::predict), as it takes memory by the pass.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "predict/prediction.h"
#include "segment/segment.h"
#include "timeline/schedule.h"
#include "timeline/work.h"

namespace foretrain {

// A chunk of the model: what each pass is made of, by kind of pass (forward, backward, input, weight), and
// the bytes that it holds (see ChunkLoad).
struct TracedChunk {
  std::array<std::array<Seconds, kCauseCount>, 4> by_cause{};
  Bytes held;
  Bytes held_for_weight;
  Bytes forward_extra;  // while the pass runs, above what is held then
  Bytes backward_extra;
  Bytes input_extra;
  Bytes weight_extra;
};

struct StepTrace {
  Placement placement;
  std::int64_t micro_batches = 0;
  bool blocking_sends = true;  // a rank can do nothing else meanwhile
  Seconds step;                // ends with the last event; equal to the prediction's but for rounding
  std::vector<Event> events;   // causes before effects
  std::vector<TracedChunk> chunks;
  std::vector<StateBytes> states;  // by rank
  bool lazy_gradients = false;     // there from the only backward on

  std::int64_t node(const Event& event) const { return placement.node(event.stage, event.chunk); }
};

// More than this would take gigabytes: views of such a step are refused.
inline constexpr std::int64_t kMostTracedEvents = 4'000'000;
// Passes and messages, at most.
std::int64_t events_of(const Job& job);

constexpr bool is_pass(EventKind kind) { return kind <= EventKind::kWeight; }
constexpr bool is_message(EventKind kind) { return kind == EventKind::kSend || kind == EventKind::kReceive; }
PassKind pass_kind(EventKind kind);     // of a pass
StepCause cause_of(EventKind kind);     // of everything else
std::string_view name(EventKind kind);  // "forward", "gradient reduce"

// "F0", "B3" (whole or to inputs), "W3", "F0.1" of chunk 1; other events by their name.
std::string label(const Event& event);

// Who caused what, found again from the events: which way each message goes, and which pass or message
// belongs to a micro-batch of a node.
class TraceIndex {
 public:
  explicit TraceIndex(const StepTrace& trace);

  // Whether a pass or message goes down the model (forward) or up (backward).
  bool down(std::int32_t event) const { return down_[static_cast<std::size_t>(event)]; }
  // The forward (down) or the backward, whole or to inputs; the message that follows it; -1: none.
  std::int32_t pass(std::int64_t node, std::int64_t micro_batch, bool down) const {
    return entry(node, micro_batch, down).pass;
  }
  std::int32_t send(std::int64_t node, std::int64_t micro_batch, bool down) const {
    return entry(node, micro_batch, down).send;
  }
  // The node whose message a pass of this node needs; -1: none. The last node's backward follows its own
  // forward.
  std::int64_t sender(std::int64_t node, bool down) const;
  std::int64_t receiver(std::int64_t node, bool down) const;  // -1: none

  // A rank's events by the time at which they start.
  std::span<const std::int32_t> rank(std::int64_t rank) const {
    return ranks_[static_cast<std::size_t>(rank)];
  }

 private:
  struct Entry {
    std::int32_t pass = -1;
    std::int32_t send = -1;
  };
  const Entry& entry(std::int64_t node, std::int64_t micro_batch, bool down) const {
    return entries_[static_cast<std::size_t>((node * micro_batches_ + micro_batch) * 2 + (down ? 0 : 1))];
  }

  Placement placement_;
  std::int64_t micro_batches_;
  std::vector<Entry> entries_;
  std::vector<bool> down_;
  std::vector<std::vector<std::int32_t>> ranks_;
};

}  // namespace foretrain
