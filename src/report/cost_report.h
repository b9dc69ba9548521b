// What operators cost, as `foretrain cost` tells it: one operator looked at closely, or a table of samples
// beside their predictions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "spec/gpu.h"

namespace foretrain {

struct CostRow {
  Operator op;
  OperatorCost cost;                // in a steady loop of its own, at the clock at which that settles
  std::optional<double> clock_mhz;  // none: what power does is not known
  std::optional<double> measured_us;
  std::optional<double> measured_host_us;
  // Where that was measured and power is known: without the governor.
  std::optional<double> us_at_measured_clock;
};

struct CostReport {
  Gpu gpu;
  std::string profile;
  std::vector<CostRow> rows;
};

// Rows of one operator:
//   linear bf16 m=8192 k=4096 n=11008 on h200-141gb-sxm, profile analytic
//     impl  pass      us  80 % interval     host us  TFLOP/s  GB/s  of roofline  origin
//     aten  fwd   1115.2  980.1 to 1268.9       6.0    662.5   289       67.0 %  analytic
// and, where the profile knows what power does, a column with the clock in MHz.
// `of roofline` is max(flops / rate, bytes / bandwidth) over the time.
std::string operator_cost_text(const CostReport& report);

// Rows with measured times: errors by operator, pass and scaled format, and with `each_row` every row, the worst first.
// Where clocks were measured, also the median error at these: what is left without the governor's own error.
std::string sample_cost_text(const CostReport& report, bool each_row);

// {gpu, profile, rows [{operator, impl, pass, dtype, dims, us, low_us, high_us, host_us, origin, flops,
// bytes, roofline, clock_mhz, measured_us, us_at_measured_clock, error}], summary [{operator, pass, dtype, count,
// median_ape, mape, bias, coverage80, clock_count, median_ape_at_measured_clock, host_count, host_mape}]}.
// A summary is of one operator, pass and scaled format; it says `dtype` where that is one.
// error = (us - measured_us) / measured_us; errors, coverage and roofline are fractions. Without measured
// times, measured_us and error are left out of rows, and there is no summary.
std::string cost_json(const CostReport& report);

}  // namespace foretrain
