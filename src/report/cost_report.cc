#include "report/cost_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json.h"
#include "base/text.h"
#include "operators/operator_text.h"
#include "operators/terms.h"
#include "report/figure_text.h"
#include "report/table.h"

namespace foretrain {
namespace {

constexpr Align kLeft = Align::kLeft, kRight = Align::kRight;

double us_of(const CostRow& row) { return row.cost.gpu.value * 1e6; }
Estimate estimate_of(const CostRow& row) { return {us_of(row), row.cost.spread, row.cost.origin}; }
double error_of(const CostRow& row) { return us_of(row) / *row.measured_us - 1; }
double roofline_share(const CostRow& row, const Gpu& gpu) { return roofline(row.op, gpu) / row.cost.gpu; }

std::string signed_percent(double share) { return signed_text(100 * share, 1) + " %"; }
std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// Four digits are what a time of a kernel repeats to.
std::string us_text(double us) { return us < 1000 ? fmt::format("{:.4g}", us) : fmt::format("{:.0f}", us); }

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// Errors of the rows of one operator and pass.
struct CostSummary {
  std::string operator_name, pass;
  Dtype dtype = Dtype::kBf16;  // of wider formats any
  std::vector<double> errors, host_errors, errors_at_clock;
  std::size_t inside = 0;

  std::string title() const {
    return is_scaled(dtype) ? operator_name + " " + std::string(name(dtype)) : operator_name;
  }
  double mape() const { return mean(absolute(errors)); }
  double median_ape() const { return median(absolute(errors)); }
  double bias() const { return mean(errors); }
  double coverage() const { return static_cast<double>(inside) / static_cast<double>(errors.size()); }
  double median_at_clock() const { return median(absolute(errors_at_clock)); }
  double host_mape() const { return mean(absolute(host_errors)); }

  void add(const CostRow& row) {
    errors.push_back(error_of(row));
    const Estimate e = estimate_of(row);
    if (e.low() <= *row.measured_us && *row.measured_us <= e.high()) ++inside;
    if (row.us_at_measured_clock) errors_at_clock.push_back(*row.us_at_measured_clock / *row.measured_us - 1);
    if (row.measured_host_us && *row.measured_host_us > 0)
      host_errors.push_back(row.cost.host.value * 1e6 / *row.measured_host_us - 1);
  }

 private:
  static std::vector<double> absolute(std::vector<double> values) {
    for (double& v : values) v = std::abs(v);
    return values;
  }
};

// By operator, pass and scaled format in order of appearance, then all.
std::vector<CostSummary> summaries(const std::vector<CostRow>& rows) {
  std::vector<CostSummary> out;
  CostSummary all{"all", "", {}, {}, {}, {}, 0};
  for (const CostRow& row : rows) {
    if (!row.measured_us) continue;
    const std::string_view kind = name(row.op.kind), pass = name(row.op.pass);
    const Dtype dtype = is_scaled(row.op.dtype) ? row.op.dtype : Dtype::kBf16;
    auto at = std::find_if(out.begin(), out.end(), [&](const CostSummary& s) {
      return s.operator_name == kind && s.pass == pass && s.dtype == dtype;
    });
    if (at == out.end())
      at = out.insert(out.end(), CostSummary{std::string(kind), std::string(pass), dtype, {}, {}, {}, 0});
    at->add(row);
    all.add(row);
  }
  if (!out.empty()) out.push_back(std::move(all));
  return out;
}

void add_row(JsonWriter& w, const CostRow& row, const Gpu& gpu) {
  const Estimate e = estimate_of(row);
  w.begin_object();
  w.key("operator").value(name(row.op.kind));
  w.key("impl").value(impl_text(row.op));
  w.key("pass").value(name(row.op.pass));
  w.key("dtype").value(name(row.op.dtype));
  w.key("dims").value(sizes_text(row.op));
  w.key("us").value(e.value);
  w.key("low_us").value(e.low());
  w.key("high_us").value(e.high());
  w.key("host_us").value(row.cost.host.value * 1e6);
  w.key("origin").value(name(e.origin));
  w.key("flops").value(flops(row.op).value);
  w.key("bytes").value(bytes(row.op).value);
  w.key("roofline").value(roofline_share(row, gpu));
  if (row.clock_mhz) w.key("clock_mhz").value(*row.clock_mhz);
  if (row.measured_us) w.key("measured_us").value(*row.measured_us).key("error").value(error_of(row));
  if (row.measured_host_us) w.key("measured_host_us").value(*row.measured_host_us);
  if (row.us_at_measured_clock) w.key("us_at_measured_clock").value(*row.us_at_measured_clock);
  w.end_object();
}

}  // namespace

std::string operator_cost_text(const CostReport& report) {
  const bool clocks = !report.rows.empty() && report.rows.front().clock_mhz;
  std::vector<Align> columns = {kLeft, kLeft, kRight, kLeft, kRight, kRight, kRight, kRight, kLeft};
  std::vector<std::string> cells = {"impl",    "pass", "us",          "80 % interval", "host us",
                                    "TFLOP/s", "GB/s", "of roofline", "origin"};
  if (clocks) columns.insert(columns.end() - 1, kRight), cells.insert(cells.end() - 1, "MHz");
  Table table(columns);
  table.add(cells);
  for (const CostRow& row : report.rows) {
    const Estimate e = estimate_of(row);
    const double work = flops(row.op).value;
    cells = {std::string(impl_text(row.op)),
             std::string(name(row.op.pass)),
             us_text(e.value),
             us_text(e.low()) + " to " + us_text(e.high()),
             us_text(row.cost.host.value * 1e6),
             work > 0 ? fmt::format("{:.1f}", work / row.cost.gpu.value / 1e12) : "-",
             fmt::format("{:.0f}", bytes(row.op).value / row.cost.gpu.value / 1e9),
             percent(roofline_share(row, report.gpu)),
             std::string(name(e.origin))};
    if (clocks) cells.insert(cells.end() - 1, fmt::format("{:.0f}", row.clock_mhz.value_or(0)));
    table.add(cells);
  }
  const Operator& op = report.rows.front().op;
  return fmt::format("{} {} {} on {}, profile {}\n", name(op.kind), name(op.dtype), sizes_text(op),
                     printable(report.gpu.name), printable(report.profile)) +
         table.text();
}

std::string sample_cost_text(const CostReport& report, bool each_row) {
  const std::vector<CostSummary> groups = summaries(report.rows);
  const bool clocks = !groups.empty() && !groups.back().errors_at_clock.empty();
  std::vector<Align> columns = {kLeft, kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kRight};
  std::vector<std::string> cells = {"operator", "pass",    "rows",      "median",   "mean",
                                    "bias",     "in 80 %", "host rows", "host mean"};
  if (clocks) columns.push_back(kRight), cells.push_back("median at its clock");
  Table table(columns);
  table.add(cells);
  for (const CostSummary& s : groups) {
    const bool host = !s.host_errors.empty();
    cells = {s.title(),
             s.pass,
             with_commas(static_cast<std::int64_t>(s.errors.size())),
             percent(s.median_ape()),
             percent(s.mape()),
             signed_percent(s.bias()),
             percent(s.coverage()),
             with_commas(static_cast<std::int64_t>(s.host_errors.size())),
             host ? percent(s.host_mape()) : "-"};
    if (clocks) cells.push_back(s.errors_at_clock.empty() ? "-" : percent(s.median_at_clock()));
    table.add(cells);
  }
  std::string text = fmt::format("absolute errors on {}, profile {}\n", printable(report.gpu.name),
                                 printable(report.profile)) +
                     table.text();
  if (!each_row) return text;
  std::vector<const CostRow*> order;
  for (const CostRow& row : report.rows) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const CostRow* a, const CostRow* b) {
    return std::abs(error_of(*a)) > std::abs(error_of(*b));
  });
  Table rows({kLeft, kLeft, kLeft, kLeft, kRight, kRight, kLeft, kRight, kLeft, kLeft});
  rows.add({"operator", "impl", "pass", "dtype", "measured us", "us", "80 % interval", "error", "origin",
            "sizes"});
  for (const CostRow* row : order) {
    const Estimate e = estimate_of(*row);
    rows.add({std::string(name(row->op.kind)), std::string(impl_text(row->op)),
              std::string(name(row->op.pass)), std::string(name(row->op.dtype)), us_text(*row->measured_us),
              us_text(e.value), us_text(e.low()) + " to " + us_text(e.high()), signed_percent(error_of(*row)),
              std::string(name(e.origin)), sizes_text(row->op)});
  }
  return text + "\nthe worst first\n" + rows.text();
}

std::string cost_json(const CostReport& report) {
  JsonWriter w;
  w.begin_answer();
  w.key("gpu").value(report.gpu.name);
  w.key("profile").value(report.profile);
  w.key("rows").begin_array();
  for (const CostRow& row : report.rows) add_row(w, row, report.gpu);
  w.end_array();
  if (const std::vector<CostSummary> groups = summaries(report.rows); !groups.empty()) {
    w.key("summary").begin_array();
    for (const CostSummary& s : groups) {
      w.begin_object().key("operator").value(s.operator_name);
      w.key("pass");
      s.pass.empty() ? w.null() : w.value(s.pass);
      if (is_scaled(s.dtype)) w.key("dtype").value(name(s.dtype));
      w.key("count").value(s.errors.size());
      w.key("median_ape").value(s.median_ape());
      w.key("mape").value(s.mape());
      w.key("bias").value(s.bias());
      w.key("coverage80").value(s.coverage());
      if (!s.errors_at_clock.empty()) {
        w.key("clock_count").value(s.errors_at_clock.size());
        w.key("median_ape_at_measured_clock").value(s.median_at_clock());
      }
      w.key("host_count").value(s.host_errors.size());
      w.key("host_mape");
      s.host_errors.empty() ? w.null() : w.value(s.host_mape());
      w.end_object();
    }
    w.end_array();
  }
  w.end_object();
  return w.text();
}

}  // namespace foretrain
