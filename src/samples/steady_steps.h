// The steady step of a run by what its lines tell, told apart from what is not training: the warm-up at the
// beginning (compilation, first allocations, tuning), pauses for evaluation and checkpoints, and outliers.
//   reference   the median of the latter half of the lines, those with a pause left out
//   warm-up     the first line and the next ones so long as they are over a tenth slower than the reference; where
//               the log begins in the middle of a run, only those that are slower by half
//   pause       a later line over a tenth slower, with an evaluation, a checkpoint or a profile since the one
//               before
//   outlier     another one that is off by over a fifth
//   steady      the median of the others; spread their relative standard deviation
//   stall       an outlier that is slow
//   drift       how much longer the last third of the lines takes than the first, warm-up and pauses left out, by
//               medians: outliers are among them, since in a run that slows down throughout most lines are some
// Where the batch grows during the run, lines of its last size count alone.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "samples/log_form.h"

namespace foretrain {

struct LoggedStep {
  StepLine told;
  std::string pause;  // what happened since the line before: "evaluation"; empty: nothing
};

struct SteadySteps {
  double seconds = 0, tokens = 0, samples = 0;  // medians; 0: not told
  double spread = 0;
  std::size_t used = 0, warmup = 0, outliers = 0, ramp = 0;
  std::map<std::string, std::size_t> pauses;
  std::size_t stalls = 0;   // of the outliers
  double with_stalls = 1;   // the mean step after the warm-up, pauses left out, over the steady one
  double with_pauses = 1;   // likewise with them
  bool is_warming = false;  // half of the lines went by before the warm-up was over
  double drift = 0;         // the last third over the first, less one; 0: too few lines
};

inline constexpr double kMuchDrift = 0.05;  // from here on no step of such a run is the steady one

// Of one run, in order, at least one line. Where lines tell no seconds but stamps, the time between them over
// the steps between them counts.
SteadySteps steady_steps(std::span<const LoggedStep> steps);

double median(std::vector<double> values);  // 0 of none

}  // namespace foretrain
