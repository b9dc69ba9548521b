// A step in the trace-event format of chrome://tracing and Perfetto (docs/formats/trace.md): a process a
// pipeline stage, with threads for passes, messages each way, collectives, the update and waits; arrows from
// a message to the pass that uses it; a counter of the bytes that a stage holds; and the critical path as a
// process of its own.
//
//   {"name":"F0","cat":"forward","ph":"X","ts":0,"dur":125044.125,"pid":1,"tid":101,"cname":"good",
//    "args":{"micro_batch":0,"chunk":0,"forward_ms":95.9,"tensor_parallel_ms":25.1,"launch_ms":3.9}},
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/step_view.h"
#include "spec/run.h"

namespace foretrain {

// What a browser opens without trouble.
inline constexpr std::int64_t kMostTracedStages = 128;
inline constexpr std::size_t kMostShownEvents = 1'000'000;

struct TraceCut {
  std::vector<std::int64_t> stages;  // from 0, rising
  std::string note;                  // what was left out; empty: nothing
};

// The stages asked for, by numbers from 1: "1-4,16".
Result<std::vector<std::int64_t>> parse_stages(std::string_view text, std::int64_t stages);

// All stages, or those asked for; where these are more than the limits above, the first and the last of them.
TraceCut cut_trace(const StepTrace& trace, std::vector<std::int64_t> asked = {},
                   std::size_t most_events = kMostShownEvents);

std::string trace_json(const Run& run, const StepView& view, const TraceCut& cut);

}  // namespace foretrain
