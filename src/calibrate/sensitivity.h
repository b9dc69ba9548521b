// How a run's predicted step follows the factors of its cluster: whole predictions, one for each factor that is turned.
//
//   J_k = d log(step) / d factor_k,  by a difference over kTurn
//
// A factor that hides behind another (a link that overlap covers) has J = 0, so what it does can not be told from this run.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cost/cost.h"
#include "predict/prediction.h"
#include "spec/cluster_factors.h"
#include "spec/run.h"

namespace foretrain {

// A turn of a factor by a tenth: large against rounding, small against what makes another algorithm or overlap.
inline constexpr double kTurn = 0.1;

// What a run is predicted to take with its cluster's factors as given. `costs` are of the cluster as it is stated.
Prediction predict_with(const Run& run, const std::shared_ptr<const CostSource>& costs,
                        const ClusterFactors& factors);

// The slopes of some figure of a run, seconds, that follows from its prediction.
struct Sensitivity {
  Prediction at;                       // with the factors about which it was taken
  std::vector<ClusterFactors> slopes;  // J of each figure
};
using FigureOf = std::function<Seconds(const Prediction&)>;
Sensitivity sensitivity(const Run& run, const std::shared_ptr<const CostSource>& costs,
                        const ClusterFactors& about, const std::vector<FigureOf>& figures);

// Of the step alone.
ClusterFactors step_slope(const Run& run, const std::shared_ptr<const CostSource>& costs,
                          const ClusterFactors& about);

}  // namespace foretrain
