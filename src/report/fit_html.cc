#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "report/fit_report.h"
#include "report/html.h"

namespace foretrain {
namespace {

// A plot's frame in its picture, and how values lie in it.
struct Frame {
  double left, top, width, height;
  double x_low, x_high, y_low, y_high;

  double x(double v) const { return left + width * std::clamp((v - x_low) / (x_high - x_low), 0.0, 1.0); }
  double y(double v) const {
    return top + height * (1 - std::clamp((v - y_low) / (y_high - y_low), 0.0, 1.0));
  }
};

constexpr double kWidth = 420, kHeight = 300;

Frame frame(double x_low, double x_high, double y_low, double y_high) {
  return {66, 12, kWidth - 92, kHeight - 54, x_low, x_high, y_low, y_high};
}

std::string line(std::string_view style, double x1, double y1, double x2, double y2) {
  return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", style, x1, y1, x2, y2);
}

std::string label(std::string_view anchor, double x, double y, std::string_view text) {
  return fmt::format("<text text-anchor=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", anchor, x, y, text);
}

std::string x_tick(const Frame& f, double v, std::string_view text) {
  return line("grid", f.x(v), f.top, f.x(v), f.top + f.height) +
         label("middle", f.x(v), f.top + f.height + 15, text);
}

std::string y_tick(const Frame& f, double v, std::string_view text) {
  return line("grid", f.left, f.y(v), f.left + f.width, f.y(v)) + label("end", f.left - 6, f.y(v) + 4, text);
}

std::string axes(const Frame& f, std::string_view x_name, std::string_view y_name) {
  return fmt::format("<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                     f.left, f.top, f.width, f.height) +
         label("middle", f.left + f.width / 2, kHeight - 8, x_name) +
         fmt::format("<text text-anchor=\"middle\" transform=\"translate(12 {:.1f}) rotate(-90)\">{}</text>",
                     f.top + f.height / 2, y_name);
}

std::string svg(std::string_view title, std::string_view content) {
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\"><title>{2}</title>{3}</svg>",
      kWidth, kHeight, title, content);
}

// "10 us", "1 ms", "10 s" for powers of ten of a microsecond.
std::string decade_text(int exponent) { return human_seconds(Seconds(std::pow(10.0, exponent - 6))); }

std::string x_decades(const Frame& f) {
  std::string out;
  const int low = static_cast<int>(std::ceil(f.x_low - 1e-9));
  const int high = static_cast<int>(std::floor(f.x_high + 1e-9));
  for (int e = low; e <= high; ++e) out += x_tick(f, e, decade_text(e));
  return out;
}

// Dots as one path of strokes without length and round ends: small, and quick to draw.
std::string dots(const Frame& f, const std::vector<ScatterPoint>& points, bool as_residual) {
  std::string path;
  for (const ScatterPoint& p : points) {
    const double x = std::log10(p.measured);
    const double y = as_residual ? 100 * (p.predicted / p.measured - 1) : std::log10(p.predicted);
    path += fmt::format("M{:.1f} {:.1f}h0", f.x(x), f.y(y));
  }
  return "<path class=\"dots\" d=\"" + path + "\"/>";
}

struct Range {
  double low, high;
};

// The decades that hold all times, in powers of ten of a microsecond.
Range decades(const std::vector<ScatterPoint>& points) {
  Range r{HUGE_VAL, -HUGE_VAL};
  for (const ScatterPoint& p : points)
    for (const double v : {p.measured, p.predicted}) {
      r.low = std::min(r.low, std::log10(v));
      r.high = std::max(r.high, std::log10(v));
    }
  r.low = std::floor(r.low);
  r.high = std::max(std::ceil(r.high), r.low + 1);
  return r;
}

std::string predicted_against_measured(const Scatter& scatter) {
  const Range r = decades(scatter.points);
  const Frame f = frame(r.low, r.high, r.low, r.high);
  std::string out = x_decades(f);
  for (int e = static_cast<int>(r.low); e <= static_cast<int>(r.high); ++e)
    out += y_tick(f, e, decade_text(e));
  out += axes(f, "measured", "predicted, held out") +
         line("ideal", f.x(r.low), f.y(r.low), f.x(r.high), f.y(r.high));
  return svg("held-out predictions against measured", out + dots(f, scatter.points, false));
}

// In percent: what holds 49 of 50 points, at least 5, rounded up to a round number.
double residual_limit(const std::vector<ScatterPoint>& points) {
  std::vector<double> sizes;
  for (const ScatterPoint& p : points) sizes.push_back(100 * std::abs(p.predicted / p.measured - 1));
  const auto at = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) * 49 / 50);
  std::nth_element(sizes.begin(), at, sizes.end());
  for (const double limit : {5.0, 10.0, 20.0, 40.0})
    if (*at <= limit) return limit;
  return 100;
}

std::string residuals(const Scatter& scatter, double limit) {
  const Range r = decades(scatter.points);
  const Frame f = frame(r.low, r.high, -limit, limit);
  std::string out = x_decades(f);
  for (const double share : {-1.0, -0.5, 0.0, 0.5, 1.0})
    out += y_tick(f, share * limit, share == 0 ? "0 %" : fmt::format("{:+g} %", share * limit));
  out += axes(f, "measured", "predicted / measured - 1") +
         line("ideal", f.left, f.y(0), f.left + f.width, f.y(0));
  return svg("held-out residuals by measured time", out + dots(f, scatter.points, true));
}

std::string histogram(const Scatter& scatter, double limit) {
  constexpr std::size_t kBins = 40;
  std::array<std::size_t, kBins> counts{};
  for (const ScatterPoint& p : scatter.points) {
    const double share = (100 * (p.predicted / p.measured - 1) + limit) / (2 * limit);
    counts[static_cast<std::size_t>(std::clamp(share, 0.0, 0.9999) * kBins)] += 1;
  }
  const auto most = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  const Frame f = frame(-limit, limit, 0, most * 1.05);
  std::string out;
  for (const double share : {-1.0, -0.5, 0.0, 0.5, 1.0})
    out += x_tick(f, share * limit, share == 0 ? "0 %" : fmt::format("{:+g} %", share * limit));
  const double step = f.width / static_cast<double>(kBins);
  for (std::size_t i = 0; i < kBins; ++i) {
    if (counts[i] == 0) continue;
    const double top = f.y(static_cast<double>(counts[i]));
    out += fmt::format("<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                       f.left + step * static_cast<double>(i) + 0.5, top, step - 1, f.top + f.height - top);
  }
  out += label("end", f.left - 6, f.y(most) + 4, fmt::format("{:.0f}", most)) +
         label("end", f.left - 6, f.y(0) + 4, "0");
  return svg("distribution of held-out residuals", out + axes(f, "predicted / measured - 1", "samples"));
}

std::string key_text(const ModelKey& key) {
  return fmt::format("{} {} {} {}", name(key.kind), name(key.impl), name(key.pass), name(key.dtype));
}

std::string anchor_of(const ModelKey& key) {
  std::string id = key_text(key);
  std::replace(id.begin(), id.end(), ' ', '-');
  return id;
}

std::string interval(double spread) {
  return fmt::format("{:+.1f} % to {:+.1f} %", 100 * std::expm1(-kZ80 * spread),
                     100 * std::expm1(kZ80 * spread));
}

std::string model_rows(const FitReport& report) {
  std::string rows;
  for (const OperatorModelView& m : report.models)
    rows += fmt::format(
        "<tr><td><a href=\"#{}\">{}</a></td><td class=\"n\">{}</td><td class=\"n\">{:.2f} %</td>"
        "<td class=\"n\">{}</td><td>{}</td></tr>\n",
        anchor_of(m.key), key_text(m.key), with_commas(m.facts.samples), 100 * m.facts.error,
        interval(m.facts.spread), range_text(m));
  return rows;
}

std::string rejection_rows(const FitReport& report) {
  std::string rows;
  for (const Rejection& r : report.rejections)
    rows += fmt::format("<tr><td>{}</td><td class=\"n\">{} of {}</td><td>{}</td><td>{}</td></tr>\n",
                        html_escaped(r.operator_name), with_commas(static_cast<std::int64_t>(r.count)),
                        with_commas(static_cast<std::int64_t>(r.group)), html_escaped(r.reason),
                        html_escaped(r.example));
  return rows;
}

std::string section(const Scatter& scatter) {
  const double limit = residual_limit(scatter.points);
  return fmt::format("<section id=\"{}\"><h2>{}</h2><div class=\"plots\">{}{}{}</div></section>\n",
                     anchor_of(scatter.key), key_text(scatter.key), predicted_against_measured(scatter),
                     residuals(scatter, limit), histogram(scatter, limit));
}

constexpr std::string_view kStyle = R"(
.plots { display: flex; flex-wrap: wrap; gap: 0.75rem; }
.grid { stroke: var(--line); stroke-width: 1; } .ideal { stroke: var(--mark); stroke-width: 1.25; stroke-dasharray: 5 4; }
.dots { stroke: var(--dot); stroke-width: 3.2; stroke-linecap: round; stroke-opacity: 0.4; fill: none; } .bar { fill: var(--dot); fill-opacity: 0.75; }
)";

}  // namespace

std::string fit_html(const FitReport& report) {
  std::string html =
      fmt::format("<p>{}: {} samples read, {} used, {} rejected.</p>\n", html_escaped(report.samples_name),
                  with_commas(static_cast<std::int64_t>(report.read)),
                  with_commas(static_cast<std::int64_t>(report.used)),
                  with_commas(static_cast<std::int64_t>(report.read - report.used)));
  html +=
      "<h2>Models</h2>\n<p>The error is the mean absolute one on shapes that a model has not seen, by "
      "cross-validation. The pictures show the same: each sample as a model fitted without its shape "
      "predicts it. What lies beyond a picture's edge is drawn on the edge.</p>\n"
      "<div class=\"wide\"><table><tr><th>operator</th><th class=\"n\">samples</th><th "
      "class=\"n\">error</th><th class=\"n\">80 % interval</th><th>sampled sizes</th></tr>\n" +
      model_rows(report) + "</table></div>\n";
  if (!report.rejections.empty())
    html +=
        "<h2>Rejected</h2>\n<div class=\"wide\"><table><tr><th>operator</th><th class=\"n\">samples</th>"
        "<th>reason</th><th>example</th></tr>\n" +
        rejection_rows(report) + "</table></div>\n";
  if (!report.host_shares.empty())
    html += "<h2>Taken off spans as the host's work</h2>\n<pre>" +
            html_escaped(host_shares_text(report.host_shares)) + "</pre>\n";
  for (const Scatter& scatter : report.scatters)
    if (!scatter.points.empty()) html += section(scatter);
  return html_page("Operators of " + report.gpu, kStyle, html);
}

}  // namespace foretrain
