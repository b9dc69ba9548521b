#include "report/training.h"

#include <cmath>

namespace foretrain {

Training training(const Run& run, const Prediction& prediction, double tokens) {
  const double tokens_per_step = static_cast<double>(run.global_batch) * static_cast<double>(run.seq);
  Training result;
  result.tokens = tokens;
  result.steps = std::ceil(tokens / tokens_per_step);
  result.pauses = paused(run.pauses, result.steps);
  const Seconds steps = prediction.mean() * result.steps;
  const Estimate& step = prediction.step;
  const auto scaled = [&](double end) { return step.value > 0 ? steps * (end / step.value) : steps; };
  result.duration = steps + result.pauses;
  result.low = scaled(step.low()) + result.pauses;
  result.high = scaled(step.high()) + result.pauses;
  result.gpu_hours = static_cast<double>(run.gpus) * result.duration.value / 3600.0;
  if (run.cluster.price_per_gpu_hour) result.usd = result.gpu_hours * *run.cluster.price_per_gpu_hour;
  return result;
}

}  // namespace foretrain
