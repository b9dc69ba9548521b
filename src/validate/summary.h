// How good the predictions of many rows are. With e = (predicted - measured) / measured of the rows that were
// scored on time:
//   mape = mean |e|, median_ape and p90_ape = quantiles of |e|, bias = mean e,
//   coverage80 = share of rows whose measured time lies within the 80 % interval.
// All are fractions, and NaN where there is no row.
//
// Some sources publish one configuration many times. The same figures over groups take each group of rows once:
// a group's |e|, e, coverage and memory errors are the means of its rows', and the figures follow from these. Over
// sources they take each source once, with the means of its groups, of rows in a healthy state alone (row_state.h).
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "validate/ranking.h"
#include "validate/row_score.h"

namespace foretrain {

inline constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

struct MemorySummary {
  std::size_t count = 0;  // rows scored on time that state their memory
  double mape = kNoFigure;
  double bias = kNoFigure;
};

// Of rows, or of one figure a group (the mean of its rows), or of one a source (the mean of its groups).
struct GroupSummary {
  std::size_t count = 0;  // those with a row scored on time
  double mape = kNoFigure;
  double median_ape = kNoFigure;
  double p90_ape = kNoFigure;
  double bias = kNoFigure;
  double coverage80 = kNoFigure;
  MemorySummary memory;  // its count: those with a row that states its memory
};

struct PartSummary {
  std::size_t count = 0;  // rows scored on time that state this part
  double mape = kNoFigure;
  double bias = kNoFigure;
};

inline constexpr std::size_t kFitBins = 5;
struct FitBin {
  std::size_t rows = 0;
  std::size_t failed = 0;
};

struct FitSummary {
  std::size_t oom_rows = 0;                    // failed for memory
  std::size_t oom_caught = 0;                  // of these, said: does not fit
  std::size_t oom_doubted = 0;                 // of these, said: may not or does not fit
  std::size_t measured_rows = 0;               // ran
  std::size_t false_oom = 0;                   // of these, said: does not fit
  std::size_t false_doubt = 0;                 // of these, said: may not or does not fit
  std::array<FitBin, kFitBins> reliability{};  // by fit_probability, in equal steps from 0 to 1
};

struct Summary {
  std::size_t count = 0;  // rows scored on time
  std::size_t skipped = 0;
  std::map<std::string, std::size_t> skipped_reasons;
  double mape = kNoFigure;
  double median_ape = kNoFigure;
  double p90_ape = kNoFigure;
  double bias = kNoFigure;
  double coverage80 = kNoFigure;
  MemorySummary memory;
  GroupSummary by_group;
  std::size_t set_apart = 0;         // rows of a broken state; counted above, but not in the two below
  GroupSummary healthy;              // rows
  GroupSummary by_source;            // sources weigh the same
  std::array<PartSummary, 3> parts;  // forward, backward, optimizer
  FitSummary fits;
  RankingSummary ranking;  // of sweeps, healthy rows alone
};

// The quantile of n sorted values lies at position q * (n - 1), between neighbours in proportion.
double quantile(std::vector<double> values, double q);

Summary summarise(const std::vector<const RowScore*>& rows);
Summary summarise(const std::vector<RowScore>& rows);

// Of features (row_feature.h) a row may have several, and counts in each.
enum class GroupBy : unsigned char { kSource, kGpu, kStack, kCluster, kGroup, kFeature };
inline constexpr std::array<std::string_view, 6> kGroupByNames = {"source",  "gpu",   "stack",
                                                                  "cluster", "group", "feature"};

std::map<std::string, Summary> summarise_by(const std::vector<RowScore>& rows, GroupBy by);

}  // namespace foretrain
