#include "trace/memory_track.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {
namespace {

struct Change {
  Seconds at;
  bool is_end = false;
  std::int32_t event = -1;
  Bytes held;
  Bytes used;
};

// What an event uses for itself while it runs, and what it adds to that held for backwards.
struct Demand {
  Bytes used;
  Bytes held_from_start;
  Bytes held_from_end;
};

Demand demand_of(const Event& event, const StepTrace& trace, const StateBytes& states) {
  if (event.kind == EventKind::kOptimizer) return {states.step_copy, Bytes(0), Bytes(0)};
  if (event.kind == EventKind::kGather) return {states.gather_copies, Bytes(0), Bytes(0)};
  const TracedChunk& chunk = trace.chunks[static_cast<std::size_t>(trace.piece(event))];
  if (event.kind == EventKind::kForward) return {chunk.forward_extra, chunk.held, Bytes(0)};
  if (event.kind == EventKind::kBackward) return {chunk.backward_extra, Bytes(0), Bytes(0) - chunk.held};
  if (event.kind == EventKind::kInput)
    return {chunk.input_extra, Bytes(0), chunk.held_for_weight - chunk.held};
  return {chunk.weight_extra, Bytes(0), Bytes(0) - chunk.held_for_weight};
}

bool takes_memory(EventKind kind) {
  return kind == EventKind::kOptimizer || kind == EventKind::kGather || is_pass(kind);
}

// The rank's backward that ends last, the last of equals; -1 where there is none.
std::int32_t last_backward(const StepTrace& trace, std::int64_t rank) {
  std::int32_t last = -1;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    if (e.stage != rank || !is_pass(e.kind) || e.kind == EventKind::kForward) continue;
    if (last < 0 || trace.events[static_cast<std::size_t>(last)].end <= e.end)
      last = static_cast<std::int32_t>(i);
  }
  return last;
}

std::vector<Change> changes_of(const StepTrace& trace, std::int64_t rank, const StateBytes& states) {
  std::vector<Change> changes;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    if (e.stage != rank || !takes_memory(e.kind)) continue;
    const Demand demand = demand_of(e, trace, states);
    const auto event = static_cast<std::int32_t>(i);
    changes.push_back({e.start, false, event, demand.held_from_start, demand.used});
    changes.push_back({e.end, true, event, demand.held_from_end, Bytes(0) - demand.used});
  }
  // Lazy gradients take the room of what backwards let go: they are told when the last of these is over.
  if (const std::int32_t last = last_backward(trace, rank); trace.lazy_gradients && last >= 0)
    changes.push_back(
        {trace.events[static_cast<std::size_t>(last)].end, true, last, Bytes(0), states.gradients});
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    if (a.at != b.at) return a.at < b.at;
    return a.event != b.event ? a.event < b.event : !a.is_end && b.is_end;
  });
  return changes;
}

}  // namespace

std::vector<MemoryPoint> memory_track(const StepTrace& trace, std::int64_t rank) {
  const auto r = static_cast<std::size_t>(rank);
  const StateBytes states = r < trace.states.size() ? trace.states[r] : StateBytes{};
  const Bytes always = states.total() - (trace.lazy_gradients ? states.gradients : Bytes(0));
  std::vector<MemoryPoint> track{{Seconds(0), always, Bytes(0), -1}};
  Bytes held, used;
  for (const Change& change : changes_of(trace, rank, states)) {
    held += change.held;
    used += change.used;
    track.push_back({change.at, always + held + used, held, change.event});
  }
  return track;
}

MemoryPoint peak_of(const std::vector<MemoryPoint>& track) {
  CHECK_THAT(!track.empty());
  return *std::max_element(track.begin(), track.end(), [](const MemoryPoint& a, const MemoryPoint& b) {
    return a.allocated < b.allocated;
  });
}

}  // namespace foretrain
