#include "report/lanes.h"

namespace foretrain {

std::int64_t other_end(const StepView& view, std::int32_t message) {
  const Event& e = view.event(message);
  const std::int64_t piece = view.trace.piece(e);
  const bool down = view.index.down(message);
  const std::int64_t other =
      e.kind == EventKind::kSend ? view.index.receiver(piece, down) : view.index.sender(piece, down);
  return other < 0 ? e.stage : view.trace.pipeline.rank(other);
}

Lane lane_of(const StepView& view, std::int32_t event) {
  const Event& e = view.event(event);
  switch (e.kind) {
    case EventKind::kForward:
    case EventKind::kBackward:
    case EventKind::kInput:
    case EventKind::kWeight:
      return Lane::kPasses;
    case EventKind::kOptimizer:
      return Lane::kUpdate;
    case EventKind::kSend:
    case EventKind::kReceive:
      return other_end(view, event) == (e.stage + 1) % view.trace.pipeline.stages ? Lane::kToNext
                                                                                  : Lane::kToPrevious;
    default:
      return Lane::kCollectives;
  }
}

}  // namespace foretrain
