// Measured sweeps as judges of a search: of plans that somebody ran for the same model, GPUs and batch, does the
// prediction put them in the measured order, and is the plan that it would choose a good one?
//
// A sweep is at least five scored rows of one source that share cluster, GPU, stack, precision, task, model, GPUs,
// global batch and sequence; rows of a broken state (row_state.h) have no say. Its regret is how much slower the plan
// predicted fastest was, as measured, than the fastest: 0 where it is the same plan.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "validate/row_score.h"

namespace foretrain {

struct TimePair {
  double measured, predicted;
};

// The places of values in their order, equal ones sharing the mean of theirs.
std::vector<double> places(const std::vector<double>& values);
// Spearman's; 0 where either side has no order.
double rank_correlation(const std::vector<TimePair>& pairs);
double regret(const std::vector<TimePair>& pairs);  // of at least one

// By the rows' `sweep`, those with enough rows.
using Sweeps = std::map<std::string, std::vector<TimePair>>;
Sweeps sweeps_of(const std::vector<const RowScore*>& rows);

// NaN where there is no sweep.
struct RankingSummary {
  std::size_t sweeps = 0;
  std::size_t rows = 0;
  double correlation = std::numeric_limits<double>::quiet_NaN();  // the median of sweeps
  double within_10 = std::numeric_limits<double>::quiet_NaN();    // share of sweeps with a regret up to 10 %
  double regret = std::numeric_limits<double>::quiet_NaN();       // the mean of sweeps
};
RankingSummary summarise_sweeps(const Sweeps& sweeps);

// What rows of one sweep share, as a name.
std::string sweep_name(const MeasuredRow& row);

}  // namespace foretrain
