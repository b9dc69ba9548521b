// Which samples cannot be true, and why. Cleaning looks at one group of (operator, implementation, pass,
// dtype) at a time and never at a prediction. A sample's work is the time that the GPU's peak rates allow:
//   work = max(FLOPs / rate, least bytes / bandwidth),   slowness = time / work
// where the least bytes are each operand once, whatever the implementation. The reasons:
//   duplicate   the same row again, to a digit that chance does not repeat
//   impossible  faster than the roofline by over a tenth, bytes that the L2 can hold not counted
//   copied      backward times that equal their forward's to the digit, ten of them and a twentieth of the
//               group
//   flat        times that do not grow with the work. A row: three quarters of the slowness of the fastest of
//               the smaller rows before it, or less (a kernel was split and one part counted). A whole group:
//               over its larger half, time grows slower than work^0.3, in all or along one of the sizes (but the
//               width of attention's heads); of
//               a chain the time beyond its kernels' least
//   floor       the smallest rows of a group, where over a range of work of 8 or more all take equally long,
//               and over 100 us: the host's launches, not the GPU's work. With them all that take less than
//               twice as long, of which launches may still be a part
//   bimodal     far from its neighbours in size, while other rows of the very same shape are not
//   outlier     far from its neighbours in size; far is a factor of 1.75, or more where a group scatters more
//   distrusted  the rest of a group of which over 30 % was impossible or flat
//   partial     a whole group of backwards that in the median take less than half as long, against the
//               forwards of their shapes, as their FLOPs or bytes say: one of several kernels was counted.
//               Not asked of eager chains, whose kernels no two frameworks share
// Thresholds are the same for every operator; groups of fewer than some tens of rows are held to the roofline
// and to their neighbours only. Costs n log n.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "samples/sample.h"
#include "spec/gpu.h"

namespace foretrain {

struct Rejection {
  std::string operator_name;  // operator_label: "linear aten bwd fp16"
  std::string reason;         // one of the words above
  std::size_t count = 0;
  std::size_t group = 0;  // samples of this operator, rejected or not
  std::string example;    // the first rejected row in words: "m=8192 k=4096 n=4096: 3.2 us"
};

// Spans from which the host's work was taken off (host_share.h) before they were judged.
struct HostShare {
  std::string operator_name;
  double us_per_tensor = 0;
  std::size_t count = 0;
};

struct CleanResult {
  std::vector<Sample> kept;           // in their order
  std::vector<Sample> rejected;       // likewise
  std::vector<Rejection> rejections;  // by operator in order of appearance, then by reason as above
  std::vector<HostShare> host_shares;
};

CleanResult clean(std::vector<Sample> samples, const Gpu& gpu);

// A table for people: operator, how many of how many, reason, example; empty where nothing was rejected.
std::string rejections_text(const std::vector<Rejection>& rejections);
// A line each; empty where there was none.
std::string host_shares_text(const std::vector<HostShare>& shares);

}  // namespace foretrain
