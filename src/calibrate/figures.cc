#include "calibrate/figures.h"

#include "samples/kernel_family.h"

namespace foretrain {
namespace {

Seconds kernels(const Prediction& prediction, bool products) {
  Seconds sum;
  for (int kind = 0; kind < kOperatorKindCount; ++kind) {
    const KernelFamily family = kernel_family(static_cast<OperatorKind>(kind));
    const bool is_product = family == KernelFamily::kMatmul || family == KernelFamily::kAttention;
    if (family == KernelFamily::kExchange || family == KernelFamily::kOther || is_product != products)
      continue;
    sum += prediction.operators[static_cast<std::size_t>(kind)];
  }
  return sum;
}

}  // namespace

Seconds predicted_figure(const Run& run, const Prediction& prediction, MeasuredPart part) {
  const StagePrediction& stage = prediction.stages.front();
  const auto passes = static_cast<double>(run.micro_batches());
  switch (part) {
    case MeasuredPart::kForward:
      return stage.forward * passes;
    case MeasuredPart::kBackward:
      return stage.backward * passes;
    case MeasuredPart::kOptimizer:
      return prediction.breakdown[static_cast<std::size_t>(StepCause::kOptimizer)];
    case MeasuredPart::kMatrixProducts:
    case MeasuredPart::kStreaming:
      return kernels(prediction, part == MeasuredPart::kMatrixProducts);
    case MeasuredPart::kStep:
      break;
  }
  return prediction.typical;
}

}  // namespace foretrain
