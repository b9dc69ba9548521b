// A sample: one operator timed on one GPU. Samples live in CSV files (docs/formats/samples.md):
//   operator,impl,pass,dtype,dims,us,spread,host_us,launches,clock,power,limit,throttle,share,loop_s,group
// `us` is the median on the GPU, `spread` its relative standard deviation, `host_us` what the host needs to
// launch it, clock in MHz, power and its enforced limit in W, `throttle` why the clock was held back, `share`
// the part of the loop's time that products took, `loop_s` how long it ran: the clock of a long one has
// settled. Columns stand in any order; operator, impl, pass, dims and
// us must be there and filled, the others may be missing or empty (dtype: bf16). `group` is a label that a
// study may keep together ("hidden=4096").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "operators/operator.h"

namespace foretrain {

struct Sample {
  Operator op;
  double us = 0;
  double spread = 0;  // 0: unknown
  std::optional<double> host_us;
  std::optional<double> clock_mhz;
  std::optional<double> power_w;
  std::optional<double> limit_w;
  std::optional<double> product_share;
  std::optional<double> loop_s;
  std::string throttle;
  std::string group;
  std::string source;  // file it came from, for reports

  bool operator==(const Sample&) const = default;
};

// A file, or every *.csv of a folder, in order of name, tables of collectives left out; at most kMaxSamples
// (samples/sample_table.h) in all. Bad cells are errors with their position; an empty set is an error.
Result<std::vector<Sample>> read_samples(const Files& files, const std::string& path);
Result<std::vector<Sample>> parse_samples(Sources tables);
Result<std::vector<Sample>> parse_samples(std::string text, const std::string& file_name);
std::string to_csv(const std::vector<Sample>& samples);

// "linear aten bwd fp16": samples of equal labels are fitted and cleaned together.
std::string operator_label(const Operator& op);

}  // namespace foretrain
