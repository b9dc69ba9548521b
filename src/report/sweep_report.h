// A search over several batches or sequence lengths: the best plan of each, what it makes of a GPU, and what limits it.
//
//    seq  batch    step   80 % interval    memory  fits     MFU  tokens/s/GPU  of the most  most of it            plan
//   4096    512  3.10 s  2.75 to 3.52 s  58.9 GiB  95 %  50.1 %        10.6 k        100 %  backward 52 %; bubble 6 %  tp=2,...
//   8192    512  ...
//
// Steps of different batches and lengths are different amounts of work; what can be held against each other is what a
// GPU gets done in a second. Of several GPU counts each point has a row a count that is faster than fewer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/over_report.h"
#include "search/sweep.h"

namespace foretrain {

// A row of the table: a point, or one of its GPU counts.
struct SweepRow {
  std::size_t point = 0;  // in the answer's
  std::string refused;    // why there is no plan; empty: `figures` are there
  OverFigures figures{};
  std::optional<double> gap{};  // how much better another plan can be, where the search was stopped
  std::string unlike{};         // GPU counts that are not faster than fewer: of a point's last row
};
std::vector<SweepRow> sweep_rows(const SweepAnswer& answer);

// As a run over one or two keys: of a point its best plan.
OverAnswer sweep_curve(const SweepAnswer& answer);

std::string sweep_text(const SweepAnswer& answer);
std::string sweep_json(const SweepAnswer& answer);
std::string sweep_csv(const SweepAnswer& answer);
std::string sweep_html(const SweepAnswer& answer);

}  // namespace foretrain
