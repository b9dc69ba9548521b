// A step's events as columns, for who draws them: entry i of each column is of event i. Times are whole nanoseconds
// from the step's beginning, bytes whole bytes; `kind`, `lane` and `wait` count into the names given with them; `piece`
// counts into `pieces`, which tell what a pass is made of.
//
//   {"step_ns": ..., "stages": 4, "shown": [0, 1, 2, 3], "note": "",
//    "kinds": ["forward", ...], "lanes": ["passes", ...], "waits": ["wait for activation", ...],
//    "events": {"stage": [...], "lane": [...], "kind": [...], "micro_batch": [...], "piece": [...], "from_ns": [...],
//               "to_ns": [...], "other_stage": [...]},      of a message, where it goes or comes from; else -1
//    "idle": {"stage": [...], "wait": [...], "from_ns": [...], "to_ns": [...]},
//    "path": {"event": [...], "stage": [...], "from_ns": [...], "to_ns": [...]},         event -1: a wait, or one not shown
//    "memory": [{"stage": 0, "at_ns": [...], "allocated": [...], "held": [...]}],
//    "pieces": [{"forward": {"forward": 0.0959, ...}, "backward": {...}}]}                       seconds by cause
#pragma once

#include <string>

#include "report/step_view.h"

namespace foretrain {

// As many events as a picture can show; of a step with more, the first and the last stages (cut_trace).
inline constexpr std::size_t kMostTimelineEvents = 200'000;

std::string timeline_json(const StepView& view);

}  // namespace foretrain
