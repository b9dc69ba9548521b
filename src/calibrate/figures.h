// What of a prediction stands beside a measured figure.
//
//   step                          the step, with a cluster's jitter the typical one
//   forward, backward, optimizer  all forwards and backwards of a step, and its update, on one GPU without a pipeline
//   products, streaming           a profiled rank's kernels: products and attention; norms, pointwise, loss and optimizer
#pragma once

#include "calibrate/lesson.h"
#include "predict/prediction.h"
#include "spec/run.h"

namespace foretrain {

Seconds predicted_figure(const Run& run, const Prediction& prediction, MeasuredPart part);

}  // namespace foretrain
