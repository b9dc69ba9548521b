// What one measurement teaches of a cluster: how far a figure of a run lies from its prediction, and what of it each factor
// would move.
//
//   gap    y = log(measured / predicted), as if the figure followed the factors in a straight line: taken with the factors
//          that are believed (phi), and what a kind is believed to have besides (u), it is
//          log(measured / predicted(phi, u)) + J phi + u
//   slope  J, of that figure by each factor (sensitivity.h)
//   spread the deviation of log(truth / predicted) that the predictor itself states of the run
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "calibrate/run_kind.h"
#include "spec/cluster_factors.h"

namespace foretrain {

// Of a run. Parts are those of a run on stages without a pipeline, kernels those of a profiler's trace.
enum class MeasuredPart : unsigned char {
  kStep,
  kForward,
  kBackward,
  kOptimizer,
  kMatrixProducts,
  kStreaming
};
inline constexpr std::size_t kMeasuredPartCount = 6;
inline constexpr std::array<std::string_view, kMeasuredPartCount> kMeasuredPartNames = {
    "step", "forward", "backward", "optimizer", "products", "streaming"};
constexpr std::string_view name(MeasuredPart part) {
  return kMeasuredPartNames[static_cast<std::size_t>(part)];
}

struct Lesson {
  std::string name;         // of the row or the file
  std::string run;          // which run: run_identity()
  std::string fingerprint;  // of the run and of what was measured of it
  MeasuredPart part = MeasuredPart::kStep;
  RunKind kind;
  std::int64_t gpus = 0;
  std::string plan;
  double measured = 0, predicted = 0;  // seconds; predicted by the cluster's own figures
  double gap = 0;
  ClusterFactors slope{};
  double spread = 0;
  double weight = 1;  // that a fit gave it: below 1 where the others do not bear it out

  bool operator==(const Lesson&) const = default;
};

}  // namespace foretrain
