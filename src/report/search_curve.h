// Of a search over several GPU counts: the fastest plan of each, what it makes of more GPUs, and what limits it.
//   GPUs    step     80 % interval  tokens/s  a GPU     memory  most of it                      plan
//    128  12.1 s  11.0 to 13.4 s     86.6 k  100 %   61.2 GiB  backward 52 %; bubble 6 %       tp=4,pp=4,dp=8
//    256   6.4 s   5.8 to 7.1 s       164 k   95 %   55.0 GiB  backward 49 %; bubble 9 %       tp=4,pp=4,dp=16
// `a GPU` is tokens a second and GPU over those of the count that has the most.
#pragma once

#include <optional>
#include <string>

#include "report/over_report.h"
#include "search/answer.h"

namespace foretrain {

// A point a GPU count that was searched, by the Pareto front. A plan that is faster than all on fewer GPUs is on it, so
// that the front's fastest of a count is the fastest there is, or no plan of the count is faster than one on fewer GPUs,
// which then is what the point says. None where there is one count, or no plan.
std::optional<OverAnswer> search_curve(const SearchAnswer& answer);

// The points that have a plan, alone; and the others in words: "no plan is faster than one on fewer GPUs: 5, 24".
OverAnswer only_running(const OverAnswer& curve);
std::string others_text(const OverAnswer& curve);

// Of a curve's points.
double best_per_gpu(const OverAnswer& curve);
std::string search_curve_text(const OverAnswer& curve);

}  // namespace foretrain
