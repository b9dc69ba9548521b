// How far to trust a prediction, by what the predictions of published runs like it were off by.
//
//   runs like it             rows  MAPE  median    p90   bias  in 80 %  memory rows  MAPE  bias
//   in all of these            12  8.1%    6.0%  17.0%  -2.2%    83.3%            0     -     -
//   GPU h100-80gb-sxm         411  ...
#pragma once

#include <string>
#include <vector>

#include "spec/run.h"
#include "validate/baseline.h"

namespace foretrain {

// What a run shares with published ones, and their figures; a count of 0: there are none.
struct Alike {
  AlikeBy by = AlikeBy::kAll;
  std::string name;
  GroupSummary figures;
};

struct AccuracyReport {
  Run run;
  bool is_example = false;
  std::vector<Alike> alike;  // that which shares everything first
  Baseline figures;          // of all published runs
};

// `all`: also by source, GPU, stack and feature.
std::string accuracy_text(const AccuracyReport& report, bool all);
std::string accuracy_json(const AccuracyReport& report);

// The published run's likest group that has any: what a reader should look at first; null: there is none.
const Alike* nearest(const AccuracyReport& report);

}  // namespace foretrain
