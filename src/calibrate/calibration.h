// What a cluster's own measurements taught: the factors that predictions there take, and how sure they are of them. Made by
// calibrate() from measurements, kept in a file (calibration_text.h), and applied to runs on the same cluster and GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/cluster_state.h"
#include "calibrate/memory_lesson.h"
#include "calibrate/posterior.h"
#include "cost/cost.h"
#include "predict/prediction.h"
#include "spec/run.h"

namespace foretrain {

struct Calibration {
  std::string name;
  std::string cluster, gpu;  // of which: by their names
  ClusterState state;        // and by their figures
  std::string profile;       // by which operators were priced when it was learned
  Posterior posterior{{}, {}};
  std::vector<HeldMemory> held;
  std::optional<MemoryLesson> memory;  // of these
  std::vector<std::string> origin;     // the files and words that it was made from

  // What runs of a kind take: the factors of the cluster, each with what the kind has besides; and with what a run that was
  // itself measured (run_identity()) has of its own.
  ClusterFactors factors_for(const RunKind& kind, const std::string& run = {}) const;
  // Distinct runs that taught it: one with several parts, or measured several times, counts once.
  std::size_t runs() const;
  std::string origin_words() const;  // "3 runs (train.log and 2 more)"
};

// Of another cluster or GPU, or of one of this name with other figures: nothing was learned about it.
Result<void> check_applies(const Calibration& calibration, const Cluster& cluster, std::string_view profile);

// A cluster and its operators' costs as a calibration has them for runs that take such factors. `costs` are those of the cluster as stated.
struct CalibratedCluster {
  Cluster cluster;
  std::shared_ptr<const CostSource> costs;
};
CalibratedCluster calibrated(const Calibration& calibration, const ClusterFactors& factors,
                             const Cluster& cluster, const std::shared_ptr<const CostSource>& costs);

// A run on that cluster, with its operators' costs: as it is predicted. `costs` are those of the cluster as stated.
struct CalibratedRun {
  Run run;
  std::shared_ptr<const CostSource> costs;
};
CalibratedRun calibrated(const Calibration& calibration, const Run& run,
                         const std::shared_ptr<const CostSource>& costs);

// How an answer stands on a calibration.
struct Standing {
  std::string name;
  std::string origin;  // "3 runs (train.log and 2 more)"
  std::size_t runs = 0;
  ClusterFactors factors{};   // that were taken
  double uncalibrated_s = 0;  // what the step would be without
  double uncalibrated_spread = 0;
  double settled = 0;                // of the run's variance, the share that the lessons took away
  std::string nearest;               // the lesson of the likest run,
  double likeness = 0;               // how like it is (1: of one kind),
  std::vector<std::string> differs;  // and in what this run differs from it
  bool measured = false;             // this very run taught it
};

// Of a run that was itself measured its own part is known; but a search scores all plans by what their kind has alone.
enum class StandsOn : unsigned char { kRun, kKind };

// Of a run whose prediction was made with calibrated(); its interval becomes that of what is left to know, of memory as well:
//   spread^2 = max(V0, s^2) V / V0
// where s is the predictor's own, V0 the variance before the lessons and V what they leave. Far from all lessons V = V0.
// `run` and `costs` are those of the cluster as stated.
Standing stand(const Calibration& calibration, const Run& run, const std::shared_ptr<const CostSource>& costs,
               Prediction& prediction, StandsOn on = StandsOn::kRun);

}  // namespace foretrain
