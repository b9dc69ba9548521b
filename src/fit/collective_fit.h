// Fits a cluster's collectives from samples of its fabric (docs/theory.md).
//
// For each collective and tier two figures carry the trend: the share of the links' stated rate that it gets,
// and a scale of the model's latencies; both by the least mean absolute log error, all layouts weighing the
// same, and where samples do not tell, as stated. Then for each sampled layout the departure from that with
// the least mean absolute error, in bins of equal count over the size: as many of kBinChoices as pay on
// samples left out, with eight samples or more in each. In a sweep, whose sizes lie a tenth or more apart,
// each stands for itself.
//
// A dispatch or combine has a third figure, the time a token takes, learned inside domains; its departures go by
// the bytes of its copies, and whole shapes (row, experts, top_k) are left out at once. Only samples with the
// SMs that training gives it count (exchange_sms).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samples/collective_sample.h"
#include "spec/cluster.h"

namespace foretrain {

inline constexpr std::size_t kFewestCollectiveSamples = 4;  // of a layout
inline constexpr std::array<std::size_t, 3> kBinChoices = {8, 24, 64};

// The fitted part of a cluster file. The cluster's own figures stand where nothing was sampled; what it had
// fitted before plays no part.
std::vector<FittedCollective> fit_collectives(const std::vector<CollectiveSample>& samples,
                                              const Cluster& cluster);

// How well layouts are known, each judged by samples that had no part in its fit. Negative: not judged.
struct CollectiveStudyRow {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::int64_t ranks = 2;
  std::int64_t ranks_per_node = 1;
  std::string source;  // rows are told apart by it
  std::size_t samples = 0;
  double random = -1;         // five folds, drawn at random over the sizes
  double unseen_layout = -1;  // fitted on the collective's other layouts of that tier
  double larger = -1;         // of the source with the largest sizes: fitted on the sources below it
};
std::vector<CollectiveStudyRow> study_collectives(const std::vector<CollectiveSample>& samples,
                                                  const Cluster& cluster);

}  // namespace foretrain
