#include "report/training.h"

#include <cmath>

namespace foretrain {

Training training(const Run& run, const Prediction& prediction, double tokens) {
  const double tokens_per_step = static_cast<double>(run.global_batch) * static_cast<double>(run.seq);
  Training result;
  result.tokens = tokens;
  result.steps = std::ceil(tokens / tokens_per_step);
  result.duration = prediction.typical * result.steps;
  result.gpu_hours = static_cast<double>(run.gpus) * result.duration.value / 3600.0;
  if (run.cluster.price_per_gpu_hour) result.usd = result.gpu_hours * *run.cluster.price_per_gpu_hour;
  return result;
}

}  // namespace foretrain
