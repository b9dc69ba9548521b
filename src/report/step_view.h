// A step's events and what the views of it share: who caused what, the critical path, each rank's time. The
// simulator prints nothing; every view reads this.
#pragma once

#include <utility>
#include <vector>

#include "trace/critical_path.h"
#include "trace/rank_time.h"
#include "trace/trace_index.h"

namespace foretrain {

struct StepView {
  StepTrace trace;
  TraceIndex index;
  CriticalPath path;
  std::vector<std::vector<Span>> spans;  // rank by rank
  std::vector<RankTime> times;           // likewise

  explicit StepView(StepTrace traced)
      : trace(std::move(traced)), index(trace), path(critical_path(trace, index)) {
    for (std::int64_t r = 0; r < trace.pipeline.stages; ++r) {
      spans.push_back(spans_of(trace, index, r));
      times.push_back(rank_time(trace, spans.back()));
    }
  }

  const Event& event(std::int32_t i) const { return trace.events[static_cast<std::size_t>(i)]; }
};

}  // namespace foretrain
