// Is a run as fast as it should be: what was measured held against its prediction, and what is visible of the reasons.
//
//   verdict   by the 80 % interval: a steady step above it is slower than expected, one below it faster, which says that
//             the run is not the one that was described. A steady step inside it whose mean with stalls is above it is
//             slower too.
//   findings  what the measurement itself shows: stalls, spread, drift, a warm-up without end, memory at the limit, figures
//             that differ from the description; from a trace, idle time, exposed exchanges, families of kernels that
//             take longer than predicted. Each with what it costs, the costliest first.
//   shares    what the predicted step spends on other things than the model's own work.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "predict/evaluator.h"
#include "validate/measured_run.h"

namespace foretrain {

enum class SpeedVerdict : unsigned char { kAsExpected, kSlower, kFaster };
inline constexpr std::array<std::string_view, 3> kSpeedVerdictNames = {"as_expected", "slower", "faster"};

struct Finding {
  std::string_view kind;  // "stalls": for programs
  double share = 0;       // of the measured time, that it accounts for; 0: it is no time
  std::string words;      // what is seen
  std::string advice;     // what to look at
};

// One figure of a trace beside the prediction's for the same thing.
struct Beside {
  std::string_view name;
  Seconds measured, predicted;
};

struct StepShare {
  std::string_view name;  // "exposed communication"
  Seconds seconds;
  std::string_view advice;  // where it is large; empty: it is not
};

// Another setting of one choice under which the prediction meets the measured step: perhaps what really ran.
struct Explanation {
  Plan plan;
  Seconds step;
  Bytes memory;  // by the log's counter
};

struct Diagnosis {
  MeasuredRun measured;
  Estimate expected;      // of the step; its median, where the cluster's jitter is known
  double ratio = 1;       // measured over expected
  double percentile = 0;  // of the measured step in what is expected, 0 to 1
  SpeedVerdict verdict = SpeedVerdict::kAsExpected;
  bool is_stalled = false;  // its steady step is as expected, the mean with stalls is not
  Bytes expected_memory;    // by the measured counter
  std::vector<Finding> findings;
  std::vector<StepShare> shares;            // the largest first
  std::vector<Beside> beside;               // of a trace
  std::vector<Explanation> explanations{};  // where the verdict is slower or faster
};

// What a file said of its run that the prediction leaves out: flags, and what they change ("time").
using NotModelled = std::vector<std::pair<std::string, std::string>>;

// `prediction` is of `run`, as is the evaluator.
Diagnosis diagnose(MeasuredRun measured, const Run& run, const Prediction& prediction, Evaluator& evaluator,
                   const NotModelled& not_modelled = {});

}  // namespace foretrain
