#include "trace/trace_index.h"

#include <algorithm>

namespace foretrain {

TraceIndex::TraceIndex(const StepTrace& trace)
    : pipeline_(trace.pipeline),
      micro_batches_(trace.micro_batches),
      entries_(static_cast<std::size_t>(2 * trace.micro_batches * trace.pipeline.pieces())),
      down_(trace.events.size(), false),
      ranks_(static_cast<std::size_t>(trace.pipeline.stages)) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    ranks_[static_cast<std::size_t>(event.stage)].push_back(static_cast<std::int32_t>(i));
    const bool passes = is_pass(event.kind) && event.kind != EventKind::kWeight;
    if (!passes && !is_message(event.kind)) continue;
    const auto at = static_cast<std::size_t>((trace.piece(event) * micro_batches_ + event.micro_batch) * 2);
    Entry& downward = entries_[at];
    Entry& upward = entries_[at + 1];
    // A send follows its pass, a receive comes before it: a micro-batch goes down, then up.
    const bool down = passes                              ? event.kind == EventKind::kForward
                      : event.kind == EventKind::kReceive ? downward.pass < 0
                                                          : upward.pass < 0;
    down_[i] = down;
    Entry& entry = down ? downward : upward;
    if (passes) entry.pass = static_cast<std::int32_t>(i);
    if (event.kind == EventKind::kSend) entry.send = static_cast<std::int32_t>(i);
  }
  for (auto& events : ranks_)
    std::stable_sort(events.begin(), events.end(), [&](std::int32_t a, std::int32_t b) {
      return trace.events[static_cast<std::size_t>(a)].start <
             trace.events[static_cast<std::size_t>(b)].start;
    });
}

std::int64_t TraceIndex::sender(std::int64_t piece, bool down) const {
  if (down) return pipeline_.first(piece) ? -1 : piece - 1;
  return pipeline_.last(piece) ? -1 : piece + 1;
}

std::int64_t TraceIndex::receiver(std::int64_t piece, bool down) const {
  if (down) return pipeline_.last(piece) ? -1 : piece + 1;
  return pipeline_.first(piece) ? -1 : piece - 1;
}

}  // namespace foretrain
