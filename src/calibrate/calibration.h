// What a cluster's own measurements taught: the factors that predictions there take, and how sure they are of them. Made by
// calibrate() from measurements, kept in a file (calibration_text.h), and applied to runs on the same cluster and GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/posterior.h"
#include "cost/cost.h"
#include "predict/prediction.h"
#include "spec/run.h"

namespace foretrain {

// Measured against predicted memory, as a logarithm, and of how many runs.
struct MemoryLesson {
  double held = 0;
  double deviation = 0;
  std::size_t runs = 0;

  bool operator==(const MemoryLesson&) const = default;
};

struct Calibration {
  std::string name;
  std::string cluster, gpu;  // of which: by their names
  std::string profile;       // by which operators were priced when it was learned
  Posterior posterior{{}, {}};
  std::optional<MemoryLesson> memory;
  std::vector<std::string> origin;  // the files and words that it was made from

  // What runs of a kind take: the factors of the cluster, each with what the kind has besides.
  ClusterFactors factors_for(const RunKind& kind) const;
  // Runs that taught it: a run with several parts counts once.
  std::size_t runs() const;
};

// Of another cluster or GPU: nothing was learned about it.
Result<void> check_applies(const Calibration& calibration, const Cluster& cluster, std::string_view profile);

// A cluster and its operators' costs as a calibration has them for runs of a kind. `costs` are those of the cluster as stated.
struct CalibratedCluster {
  Cluster cluster;
  std::shared_ptr<const CostSource> costs;
};
CalibratedCluster calibrated(const Calibration& calibration, const RunKind& kind, const Cluster& cluster,
                             const std::shared_ptr<const CostSource>& costs);

// How an answer stands on a calibration.
struct Standing {
  std::string name;
  std::size_t runs = 0;
  ClusterFactors factors{};   // that were taken
  double uncalibrated_s = 0;  // what the step would be without
  double uncalibrated_spread = 0;
  double settled = 0;                // of the run's variance, the share that the lessons took away
  std::string nearest;               // the lesson of the likest run,
  double likeness = 0;               // how like it is (1: of one kind),
  std::vector<std::string> differs;  // and in what this run differs from it
};

// Of a run whose prediction was made with calibrated(); its interval becomes that of what is left to know:
//   spread^2 = max(V0, s^2) V / V0
// where s is the predictor's own, V0 the variance before the lessons and V what they leave. Far from all lessons V = V0.
// `run` and `costs` are those of the cluster as stated.
Standing stand(const Calibration& calibration, const Run& run, const std::shared_ptr<const CostSource>& costs,
               Prediction& prediction);

}  // namespace foretrain
