#include "report/cost_report.h"

#include <doctest/doctest.h>

#include "operators/product.h"

using namespace foretrain;

namespace {

// 2 * 1000^3 operations at 10 TFLOP/s take 200 us; 6 MB at 1 TB/s 6 us. At 400 us that is half of the
// roofline.
CostReport example() {
  CostReport report;
  report.gpu.name = "x1";
  report.gpu.rates.fill(teraflops(10));
  report.gpu.hbm = gigabytes_per_second(1000);
  report.profile = "analytic";
  CostRow row;
  row.op = linear({.m = 1000, .k = 1000, .n = 1000});
  row.cost.gpu = microseconds(400);
  row.cost.host = microseconds(6);
  report.rows = {row};
  return report;
}

CostReport measured() {
  CostReport report = example();
  report.rows.front().cost.spread = 0.01;
  report.rows.push_back(report.rows.front());
  report.rows[0].measured_us = 500;  // predicted 20 % under
  report.rows[0].measured_host_us = 12;
  report.rows[1].measured_us = 399;
  return report;
}

}  // namespace

TEST_CASE("an operator: rates that it reaches, and its share of the roofline") {
  CHECK(operator_cost_text(example()) == R"(linear bf16 m=1000 k=1000 n=1000 on x1, profile analytic
  impl  pass   us  80 % interval  host us  TFLOP/s  GB/s  of roofline  origin
  aten  fwd   400  400 to 400           6      5.0    15       50.0 %  analytic
)");
}

TEST_CASE("samples: errors by operator and pass; host errors only where the host was measured") {
  CHECK(sample_cost_text(measured(), true) == R"(absolute errors on x1, profile analytic
  operator  pass  rows  median    mean    bias  in 80 %  host rows  host mean
  linear    fwd      2  10.1 %  10.1 %  -9.9 %   50.0 %          1     50.0 %
  all                2  10.1 %  10.1 %  -9.9 %   50.0 %          1     50.0 %

the worst first
  operator  impl  pass  dtype  measured us   us  80 % interval     error  origin    sizes
  linear    aten  fwd   bf16           500  400  394.9 to 405.2  -20.0 %  analytic  m=1000 k=1000 n=1000
  linear    aten  fwd   bf16           399  400  394.9 to 405.2   +0.3 %  analytic  m=1000 k=1000 n=1000
)");
}

TEST_CASE("samples with clocks: also the errors at these") {
  CostReport report = measured();
  report.rows[0].us_at_measured_clock = 490;
  CHECK(sample_cost_text(report, false) == R"(absolute errors on x1, profile analytic
  operator  pass  rows  median    mean    bias  in 80 %  host rows  host mean  median at its clock
  linear    fwd      2  10.1 %  10.1 %  -9.9 %   50.0 %          1     50.0 %                2.0 %
  all                2  10.1 %  10.1 %  -9.9 %   50.0 %          1     50.0 %                2.0 %
)");
  const std::string json = cost_json(report);
  CHECK(json.find("\"us_at_measured_clock\": 490") != std::string::npos);
  CHECK(json.find("\"clock_count\": 1") != std::string::npos);
}

TEST_CASE("JSON: errors are fractions, and there is a summary only where something was measured") {
  const std::string json = cost_json(measured());
  CHECK(json.find("\"measured_us\": 500") != std::string::npos);
  CHECK(json.find("\"median_ape\": 0.101") != std::string::npos);
  CHECK(json.find("\"coverage80\": 0.5") != std::string::npos);
  CHECK(cost_json(example()).find("summary") == std::string::npos);
  CHECK(cost_json(example()).find("\"roofline\": 0.5") != std::string::npos);
}
