// What was measured of one run, from its log or from a profiler's trace of one of its ranks, in the figures that a
// prediction has too.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "samples/kineto_trace.h"
#include "samples/training_log.h"
#include "spec/run.h"

namespace foretrain {

// A step as a profiler saw it on one GPU: medians over the steps of the trace.
struct ProfiledStep {
  Seconds busy;     // with anything running
  Seconds exposed;  // with collectives and nothing else running
  Seconds idle;     // between the first kernel and the last, with nothing running
  Seconds longest_gap;
  std::size_t steps = 0, gaps = 0;
  bool is_named = true;                                // the trace says where steps begin
  std::array<Seconds, kKernelFamilyCount> families{};  // kernels', whether or not others ran beside them
};

struct MeasuredRun {
  std::string file, format;  // "megatron log", "trace of NVIDIA H100 80GB HBM3, rank 0 of 8"
  Seconds step;              // steady
  std::string told_as;       // what the step follows from, where no line tells it: "tokens a second and GPU"
  double spread = 0, drift = 0;
  double with_stalls = 1, with_pauses = 1;  // mean steps over the steady one (steady_steps.h)
  std::size_t lines = 0, stalls = 0;        // steady lines, and slow ones among the rest
  bool is_warming = false;
  std::map<std::string, std::size_t> pauses;
  Bytes memory;                // 0: not told
  std::string memory_counter;  // in the log's words
  double global_batch = 0;     // as the log tells it; 0: not told
  std::int64_t ranks = 0;      // as a trace tells it; 0: not told
  std::optional<ProfiledStep> profiled;
};

// Where lines tell tokens or samples a second and not the step, the run says how many of them a step has. A log that
// tells none of them is refused.
Result<MeasuredRun> measured_run(const TrainingLog& log, const Run& run);
MeasuredRun measured_run(const KinetoTrace& trace);

}  // namespace foretrain
