// What a whole training costs: as many steps as its tokens need, each as long as they are in the mean, and what it stops
// for beside them.
//   steps = ceil(tokens / (global_batch * seq)),   duration = steps * mean + sum of floor(steps / every) * pause
// Stalls of many steps add up to their mean; what remains unsure is the step itself, so the interval is the step's.
#pragma once

#include <cstdint>
#include <optional>

#include "predict/prediction.h"
#include "spec/run.h"

namespace foretrain {

struct Training {
  double tokens = 0;
  double steps = 0;  // whole
  Seconds duration;
  Seconds low, high;  // 80 % interval
  Seconds pauses;     // of the duration
  double gpu_hours = 0;
  std::optional<double> usd;  // where the cluster states a price

  double days() const { return duration.value / 86400.0; }
};

Training training(const Run& run, const Prediction& prediction, double tokens);

}  // namespace foretrain
