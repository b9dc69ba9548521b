// What a whole training costs: as many typical steps as its tokens need.
//   steps = ceil(tokens / (global_batch * seq)),  GPU-hours = gpus * steps * typical / 3600
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
  double gpu_hours = 0;
  std::optional<double> usd;  // where the cluster states a price

  double days() const { return duration.value / 86400.0; }
};

Training training(const Run& run, const Prediction& prediction, double tokens);

}  // namespace foretrain
