#include "calibrate/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"
#include "calibrate/run_identity.h"
#include "calibrate/sensitivity.h"
#include "cost/scaled_cost.h"
#include "predict/evaluator.h"
#include "predict/uncertainty.h"

namespace foretrain {

ClusterFactors Calibration::factors_for(const RunKind& kind, const std::string& run) const {
  return shifted(posterior.factors(), posterior.shift(kind) + posterior.own_shift(run));
}

std::size_t Calibration::runs() const {
  std::set<std::string_view> distinct;
  for (const Lesson& lesson : posterior.lessons()) distinct.insert(lesson.run);
  return distinct.size();
}

std::string Calibration::origin_words() const {
  const std::size_t n = runs();
  std::string out = fmt::format("{} run{}", n, n == 1 ? "" : "s");
  if (origin.empty()) return out;
  const std::size_t more = origin.size() - 1;
  return out +
         fmt::format(" ({}{})", printable(origin.front()), more > 0 ? fmt::format(" and {} more", more) : "");
}

Result<void> check_applies(const Calibration& calibration, const Cluster& cluster, std::string_view profile) {
  if (calibration.cluster != cluster.name || calibration.gpu != cluster.gpu.name)
    return fail(fmt::format("found a calibration of cluster {} ({}), expected one of {} ({})",
                            quoted(calibration.cluster), calibration.gpu, quoted(cluster.name),
                            cluster.gpu.name));
  if (calibration.profile != profile)
    return fail(fmt::format("found a calibration of profile {}, expected one of {}",
                            quoted(calibration.profile), quoted(profile)));
  if (const std::string differs = first_difference(state_of(cluster), calibration.state); !differs.empty())
    return fail(
        fmt::format("found a calibration of another cluster {}: this one has {}; calibrate again "
                    "with its figures",
                    quoted(cluster.name), differs));
  return {};
}

CalibratedCluster calibrated(const Calibration& calibration, const ClusterFactors& factors,
                             const Cluster& cluster, const std::shared_ptr<const CostSource>& costs) {
  CalibratedCluster out{scaled(cluster, factors), std::make_shared<const ScaledCost>(costs, factors)};
  // A GPU is no larger than it is, however little was held of what is predicted.
  if (calibration.memory)
    out.cluster.gpu.usable = cluster.gpu.usable * std::min(1.0, std::exp(-calibration.memory->held));
  return out;
}

CalibratedRun calibrated(const Calibration& calibration, const Run& run,
                         const std::shared_ptr<const CostSource>& costs) {
  CalibratedCluster here =
      calibrated(calibration, calibration.factors_for(kind_of(run), run_identity(run)), run.cluster, costs);
  CalibratedRun out{run, std::move(here.costs)};
  out.run.cluster = std::move(here.cluster);
  return out;
}

// The chance to fit by what is left to know of a run's memory; what is needed is compared with what the prediction took for
// usable, which follows what was held already.
static void stand_memory(const Calibration& calibration, const Run& run, Prediction& prediction) {
  if (!calibration.memory) return;
  const double spread = memory_spread_after(calibration.memory, memory_spread(run.stack.described));
  prediction.fit_probability = fit_probability(prediction.needed, prediction.usable, spread);
  prediction.fits = prediction.fit_probability >= kFitsFrom;
}

Standing stand(const Calibration& calibration, const Run& run, const std::shared_ptr<const CostSource>& costs,
               Prediction& prediction, StandsOn on) {
  const RunKind kind = kind_of(run);
  const std::string identity = on == StandsOn::kRun ? run_identity(run) : "";
  Standing out;
  out.name = calibration.name;
  out.runs = calibration.runs();
  out.origin = calibration.origin_words();
  out.factors = calibration.factors_for(kind, identity);
  out.measured = calibration.posterior.was_measured(identity);
  const Prediction before = predict(run, costs);
  out.uncalibrated_s = before.step.value;
  out.uncalibrated_spread = before.step.spread;
  const ClusterFactors slope = step_slope(run, costs, out.factors);
  const double spread = prediction.step.spread;
  const Posterior::Variance variance = calibration.posterior.variance({slope, kind, identity, spread});
  const double left = variance.before > 0 ? variance.left / variance.before : 1;
  prediction.step.spread = std::sqrt(std::max(variance.before, spread * spread) * left);
  if (out.measured) prediction.step.above = 0;  // whatever held it up was measured with it
  out.settled = 1 - left;
  stand_memory(calibration, run, prediction);
  constexpr double kItself = 2;  // more than of one kind
  double most = -1;
  for (const Lesson& lesson : calibration.posterior.lessons()) {
    const bool itself = !identity.empty() && lesson.run == identity;
    const double like = itself ? kItself : likeness(kind, lesson.kind);
    if (like <= most) continue;
    most = like;
    out.likeness = std::min(like, 1.0);
    out.nearest = lesson.name;
    out.differs = differences(kind, lesson.kind);
  }
  return out;
}

}  // namespace foretrain
