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

}  // namespace

std::vector<MemoryPoint> memory_track(const StepTrace& trace, std::int64_t rank) {
  const auto r = static_cast<std::size_t>(rank);
  const StateBytes states = r < trace.states.size() ? trace.states[r] : StateBytes{};
  std::vector<Change> changes;
  std::int32_t last = -1;  // of the backwards
  const auto during = [&](const Event& e, std::int32_t i, Bytes used, Bytes held_before, Bytes held_after) {
    changes.push_back({e.start, false, i, held_before, used});
    changes.push_back({e.end, true, i, held_after, Bytes(0) - used});
  };
  for (std::size_t k = 0; k < trace.events.size(); ++k) {
    const Event& e = trace.events[k];
    const auto i = static_cast<std::int32_t>(k);
    if (e.stage != rank) continue;
    if (e.kind == EventKind::kOptimizer) during(e, i, states.step_copy, Bytes(0), Bytes(0));
    if (e.kind == EventKind::kGather) during(e, i, states.gather_copies, Bytes(0), Bytes(0));
    if (!is_pass(e.kind)) continue;
    if (e.kind != EventKind::kForward &&
        (last < 0 || trace.events[static_cast<std::size_t>(last)].end <= e.end))
      last = i;
    const TracedChunk& chunk = trace.chunks[static_cast<std::size_t>(trace.piece(e))];
    if (e.kind == EventKind::kForward) {
      during(e, i, chunk.forward_extra, chunk.held, Bytes(0));
    } else if (e.kind == EventKind::kBackward) {
      during(e, i, chunk.backward_extra, Bytes(0), Bytes(0) - chunk.held);
    } else if (e.kind == EventKind::kInput) {
      during(e, i, chunk.input_extra, Bytes(0), chunk.held_for_weight - chunk.held);
    } else {
      during(e, i, chunk.weight_extra, Bytes(0), Bytes(0) - chunk.held_for_weight);
    }
  }
  // Lazy gradients take the room of what backwards let go: they are told when the last of these is over.
  if (trace.lazy_gradients && last >= 0)
    changes.push_back(
        {trace.events[static_cast<std::size_t>(last)].end, true, last, Bytes(0), states.gradients});
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    if (a.at != b.at) return a.at < b.at;
    return a.event != b.event ? a.event < b.event : !a.is_end && b.is_end;
  });

  const Bytes always = states.total() - (trace.lazy_gradients ? states.gradients : Bytes(0));
  std::vector<MemoryPoint> track{{Seconds(0), always, Bytes(0), -1}};
  Bytes held, used;
  for (const Change& change : changes) {
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
