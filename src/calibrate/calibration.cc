#include "calibrate/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"
#include "calibrate/sensitivity.h"
#include "cost/scaled_cost.h"
#include "predict/evaluator.h"

namespace foretrain {

ClusterFactors Calibration::factors_for(const RunKind& kind) const {
  ClusterFactors factors = posterior.factors();
  const double shift = posterior.shift(kind);
  for (double& factor : factors) factor += shift;
  return factors;
}

std::size_t Calibration::runs() const {
  std::set<std::string_view> names;
  for (const Lesson& lesson : posterior.lessons()) names.insert(lesson.name);
  return names.size();
}

Result<void> check_applies(const Calibration& calibration, const Cluster& cluster, std::string_view profile) {
  if (calibration.cluster == cluster.name && calibration.gpu == cluster.gpu.name) {
    if (calibration.profile == profile) return {};
    return fail(fmt::format("found a calibration of profile {}, expected one of {}",
                            quoted(calibration.profile), quoted(profile)));
  }
  return fail(fmt::format("found a calibration of cluster {} ({}), expected one of {} ({})",
                          quoted(calibration.cluster), calibration.gpu, quoted(cluster.name),
                          cluster.gpu.name));
}

CalibratedCluster calibrated(const Calibration& calibration, const RunKind& kind, const Cluster& cluster,
                             const std::shared_ptr<const CostSource>& costs) {
  const ClusterFactors factors = calibration.factors_for(kind);
  CalibratedCluster out{scaled(cluster, factors), std::make_shared<const ScaledCost>(costs, factors)};
  // A GPU is no larger than it is, however little was held of what is predicted.
  if (calibration.memory)
    out.cluster.gpu.usable = cluster.gpu.usable * std::min(1.0, std::exp(-calibration.memory->held));
  return out;
}

Standing stand(const Calibration& calibration, const Run& run, const std::shared_ptr<const CostSource>& costs,
               Prediction& prediction) {
  const RunKind kind = kind_of(run);
  Standing out;
  out.name = calibration.name;
  out.runs = calibration.runs();
  out.factors = calibration.factors_for(kind);
  const Prediction before = predict(run, costs);
  out.uncalibrated_s = before.step.value;
  out.uncalibrated_spread = before.step.spread;
  const ClusterFactors slope = step_slope(run, costs, out.factors);
  const double spread = prediction.step.spread;
  const Posterior::Variance variance = calibration.posterior.variance(slope, kind, spread);
  const double left = variance.before > 0 ? variance.left / variance.before : 1;
  prediction.step.spread = std::sqrt(std::max(variance.before, spread * spread) * left);
  out.settled = 1 - left;
  for (const Lesson& lesson : calibration.posterior.lessons())
    if (const double like = likeness(kind, lesson.kind); like > out.likeness || out.nearest.empty()) {
      out.likeness = like;
      out.nearest = lesson.name;
      out.differs = differences(kind, lesson.kind);
    }
  return out;
}

}  // namespace foretrain
