#include "calibrate/sensitivity.h"

#include <cmath>

#include "cost/scaled_cost.h"
#include "predict/evaluator.h"

namespace foretrain {
Prediction predict_with(const Run& run, const std::shared_ptr<const CostSource>& costs,
                        const ClusterFactors& factors) {
  Run there = run;
  there.cluster = scaled(run.cluster, factors);
  return predict(there, std::make_shared<const ScaledCost>(costs, factors));
}

Sensitivity sensitivity(const Run& run, const std::shared_ptr<const CostSource>& costs,
                        const ClusterFactors& about, const std::vector<FigureOf>& figures) {
  Sensitivity out{predict_with(run, costs, about), std::vector<ClusterFactors>(figures.size())};
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    ClusterFactors turned = about;
    turned[k] += kTurn;
    const Prediction there = predict_with(run, costs, turned);
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const Seconds before = figures[i](out.at), after = figures[i](there);
      if (before > Seconds(0) && after > Seconds(0)) out.slopes[i][k] = std::log(after / before) / kTurn;
    }
  }
  return out;
}

ClusterFactors step_slope(const Run& run, const std::shared_ptr<const CostSource>& costs,
                          const ClusterFactors& about) {
  return sensitivity(run, costs, about, {[](const Prediction& p) { return Seconds(p.step.value); }})
      .slopes.front();
}

}  // namespace foretrain
