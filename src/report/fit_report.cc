#include "report/fit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "operators/operator_text.h"
#include "report/table.h"

namespace foretrain {
namespace {

std::string count_text(std::size_t n) { return with_commas(static_cast<std::int64_t>(n)); }
std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

// An 80 % interval around 1, in percent.
std::string interval_text(double spread) {
  return fmt::format("{:+.1f} % to {:+.1f} %", 100 * std::expm1(-kZ80 * spread),
                     100 * std::expm1(kZ80 * spread));
}

std::vector<std::string> key_cells(const ModelKey& key) {
  return {std::string(name(key.kind)), std::string(name(key.impl)), std::string(name(key.pass)),
          std::string(name(key.dtype))};
}

std::vector<std::string> joined(std::vector<std::string> cells, const std::vector<std::string>& more) {
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

std::string indented(std::string_view lines) {
  std::string out;
  for (const std::string_view line : split(lines, '\n'))
    if (!line.empty()) out += "  " + std::string(line) + "\n";
  return out;
}

constexpr Align kLeft = Align::kLeft, kRight = Align::kRight;

std::string study_text(const std::vector<StudyRow>& rows) {
  Table table({kLeft, kLeft, kLeft, kLeft, kRight, kRight, kRight, kRight});
  table.add(
      {"operator", "impl", "pass", "dtype", "samples", "unseen shapes", "unseen hidden", "largest fifth"});
  // A mean over the rows that have one.
  struct Mean {
    double sum = 0;
    std::size_t count = 0;

    std::string add(double error) {
      if (error < 0) return "-";
      sum += error, ++count;
      return percent(error);
    }
    std::string text() const { return count > 0 ? percent(sum / static_cast<double>(count)) : "-"; }
  };
  Mean shapes, hidden, largest;
  std::size_t samples = 0;
  for (const StudyRow& row : rows) {
    table.add(joined(key_cells(row.key), {count_text(row.samples), shapes.add(row.shapes),
                                          hidden.add(row.hidden), largest.add(row.largest)}));
    samples += row.samples;
  }
  table.add({"mean", "", "", "", count_text(samples), shapes.text(), hidden.text(), largest.text()});
  return "mean absolute error on samples held out\n" + table.text();
}

std::vector<std::size_t> curve_sizes(const std::vector<CurvePoint>& points) {
  std::vector<std::size_t> sizes;
  for (const CurvePoint& point : points) sizes.push_back(point.samples);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::string curve_text(const std::vector<CurvePoint>& points) {
  const std::vector<std::size_t> sizes = curve_sizes(points);
  std::vector<Align> columns(4, kLeft);
  columns.resize(4 + sizes.size(), kRight);
  Table table(columns);
  std::vector<std::string> row = {"operator", "impl", "pass", "dtype"};
  for (const std::size_t size : sizes) row.push_back(count_text(size));
  table.add(row);
  for (auto point = points.begin(); point != points.end();) {
    const ModelKey key = point->key;
    row = key_cells(key);
    row.resize(columns.size(), "-");
    for (; point != points.end() && point->key == key; ++point) {
      const auto at = std::lower_bound(sizes.begin(), sizes.end(), point->samples) - sizes.begin();
      row[4 + static_cast<std::size_t>(at)] = percent(point->error);
    }
    table.add(row);
  }
  return "mean absolute error on unseen shapes, by samples fitted on\n" + table.text();
}

void add_key(JsonWriter& w, const ModelKey& key) {
  w.key("operator").value(name(key.kind));
  w.key("impl").value(name(key.impl));
  w.key("pass").value(name(key.pass));
  w.key("dtype").value(name(key.dtype));
}

void add_study(JsonWriter& w, const std::vector<StudyRow>& rows) {
  w.key("study").begin_array();
  for (const StudyRow& row : rows) {
    w.begin_object();
    add_key(w, row.key);
    w.key("samples").value(row.samples);
    w.key("shapes").value(row.shapes);
    w.key("hidden");
    row.hidden >= 0 ? w.value(row.hidden) : w.null();
    w.key("largest");
    row.largest >= 0 ? w.value(row.largest) : w.null();
    w.end_object();
  }
  w.end_array();
}

void add_curve(JsonWriter& w, const std::vector<CurvePoint>& points) {
  w.key("learning_curve").begin_array();
  for (const CurvePoint& point : points) {
    w.begin_object();
    add_key(w, point.key);
    w.key("samples").value(point.samples).key("error").value(point.error).end_object();
  }
  w.end_array();
}

}  // namespace

std::string range_text(const OperatorModelView& model) {
  std::string text;
  const auto names = size_names(model.key.kind);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double low = model.facts.size_low[i], high = model.facts.size_high[i];
    text += fmt::format("{}{}={:.0f}", i == 0 ? "" : " ", names[i], low);
    if (high != low) text += fmt::format("..{:.0f}", high);
  }
  return text;
}

std::string models_text(std::span<const OperatorModelView> models) {
  Table table({kLeft, kLeft, kLeft, kLeft, kRight, kRight, kLeft, kLeft, kRight, kLeft, kLeft});
  table.add({"operator", "impl", "pass", "dtype", "samples", "error", "80 % interval", "outside", "clocked",
             "origin", "sampled sizes"});
  for (const OperatorModelView& model : models) {
    std::vector<std::string> cells = key_cells(model.key);
    if (model.facts.pooled) cells[1] = cells[2] = "all";
    table.add(joined(
        std::move(cells),
        {with_commas(model.facts.samples), percent(model.facts.error), interval_text(model.facts.spread),
         interval_text(model.facts.spread_outside),
         model.facts.clocked_share > 0 ? fmt::format("{:.0f} %", 100 * model.facts.clocked_share) : "-",
         std::string(name(model.facts.origin)), range_text(model)}));
  }
  return table.text();
}

void put_model(JsonWriter& w, const OperatorModelView& model) {
  w.begin_object();
  add_key(w, model.key);
  w.key("samples").value(model.facts.samples);
  w.key("error").value(model.facts.error);
  w.key("spread").value(model.facts.spread);
  w.key("spread_outside").value(model.facts.spread_outside);
  w.key("origin").value(name(model.facts.origin));
  w.key("clocked_share").value(model.facts.clocked_share);
  if (model.facts.pooled) w.key("pooled").value(true);
  w.key("sizes").begin_object();
  const auto names = size_names(model.key.kind);
  for (std::size_t i = 0; i < names.size(); ++i)
    w.key(names[i]).begin_array().value(model.facts.size_low[i]).value(model.facts.size_high[i]).end_array();
  w.end_object().end_object();
}

std::string power_text(const PowerModel& power) {
  const std::string narrow = power.joules_per_fp8_flop > 0
                                 ? fmt::format(" ({:.3g} of eight bits)", power.joules_per_fp8_flop * 1e12)
                                 : "";
  return fmt::format(
      "{:.0f} W static, {:.3g} pJ a byte, {:.3g} pJ a FLOP{} at {:.0f} MHz, less with the clock to the "
      "power of {:.3g}",
      power.static_w, power.joules_per_byte * 1e12, power.joules_per_flop * 1e12, narrow, power.reference_mhz,
      power.exponent);
}

std::string fit_text(const FitReport& report) {
  std::string text = fmt::format("samples   {} read, {} used, {} rejected\n", count_text(report.read),
                                 count_text(report.used), count_text(report.read - report.used));
  if (!report.rejections.empty()) text += "\nrejected\n" + indented(rejections_text(report.rejections));
  if (!report.host_shares.empty())
    text += "\ntaken off spans as the host's work\n" + indented(host_shares_text(report.host_shares));
  if (!report.models.empty())
    text += "\nfitted (error: mean absolute, on shapes a model has not seen)\n" + models_text(report.models);
  if (report.power && report.power->samples == 0)
    text += fmt::format("\npower     {}; carried over with the profile that this one derives from\n",
                        power_text(report.power->model));
  else if (report.power)
    text += fmt::format(
        "\npower     {}; clocks of {} samples within {} in the mean{}\n", power_text(report.power->model),
        count_text(report.power->samples), percent(report.power->error),
        report.power->fp8_samples > 0
            ? fmt::format(", of {} of eight bits within {}", count_text(report.power->fp8_samples),
                          percent(report.power->fp8_error))
            : "");
  if (report.power_left_out)
    text += "\npower     left out: the samples' clocks do not follow power, as locked ones do not\n";
  if (!report.too_few.empty()) {
    text += "\ntoo few samples, left to physics\n";
    for (const std::string& group : report.too_few) text += "  " + group + "\n";
  }
  if (!report.study.empty()) text += "\n" + study_text(report.study);
  if (!report.curve.empty()) text += "\n" + curve_text(report.curve);
  if (!report.written.empty()) text += "\nwritten: " + printable(report.written) + "\n";
  return text;
}

std::string fit_json(const FitReport& report) {
  JsonWriter w;
  w.begin_answer();
  w.key("gpu").value(report.gpu);
  w.key("samples").begin_object();
  w.key("read").value(report.read);
  w.key("used").value(report.used);
  w.key("rejected").value(report.read - report.used).end_object();
  w.key("rejections").begin_array();
  for (const Rejection& r : report.rejections)
    w.begin_object()
        .key("operator")
        .value(r.operator_name)
        .key("reason")
        .value(r.reason)
        .key("count")
        .value(r.count)
        .key("of")
        .value(r.group)
        .key("example")
        .value(r.example)
        .end_object();
  w.end_array();
  w.key("host_shares").begin_array();
  for (const HostShare& share : report.host_shares)
    w.begin_object()
        .key("operator")
        .value(share.operator_name)
        .key("us_per_tensor")
        .value(share.us_per_tensor)
        .key("count")
        .value(share.count)
        .end_object();
  w.end_array();
  w.key("operators").begin_array();
  for (const OperatorModelView& model : report.models) put_model(w, model);
  w.end_array();
  if (report.power) {
    const PowerModel& power = report.power->model;
    w.key("power").begin_object();
    w.key("static_w").value(power.static_w);
    w.key("pj_per_byte").value(power.joules_per_byte * 1e12);
    w.key("pj_per_flop").value(power.joules_per_flop * 1e12);
    if (power.joules_per_fp8_flop > 0) w.key("pj_per_fp8_flop").value(power.joules_per_fp8_flop * 1e12);
    w.key("exponent").value(power.exponent);
    w.key("reference_mhz").value(power.reference_mhz);
    w.key("samples").value(report.power->samples);
    w.key("error").value(report.power->error);
    if (report.power->fp8_samples > 0) {
      w.key("fp8_samples").value(report.power->fp8_samples);
      w.key("fp8_error").value(report.power->fp8_error);
    }
    w.end_object();
  }
  w.key("too_few").begin_array();
  for (const std::string& group : report.too_few) w.value(group);
  w.end_array();
  if (!report.study.empty()) add_study(w, report.study);
  if (!report.curve.empty()) add_curve(w, report.curve);
  if (!report.written.empty()) w.key("written").value(report.written);
  w.end_object();
  return w.text();
}

}  // namespace foretrain
