#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "report/html.h"
#include "report/over_report.h"
#include "report/text_parts.h"

namespace foretrain {
const std::string_view kOverStyle = R"(
p.run { max-width: none; } .grid { stroke: var(--line); } .band { fill: var(--dot); opacity: 0.18; }
.curve { fill: none; stroke: var(--dot); stroke-width: 2; } .dot { fill: var(--dot); } .bad { fill: var(--paper); stroke: var(--mark); stroke-width: 2; }
.none { stroke: var(--mark); stroke-width: 2; } .reason { white-space: normal; color: var(--mark); min-width: 22rem; }
.k0 { fill: #3b82f6; } .k1 { fill: #0f9f6e; } .k2 { fill: #84b829; } .k3 { fill: #f59e0b; } .k4 { fill: #d946ef; } .k5 { fill: #14b8a6; } .k6 { fill: #8b5cf6; }
.k7 { fill: #64748b; } .k8 { fill: #ec4899; } .k9 { fill: #cbd5e1; } .k10 { fill: #a855f7; } .k11 { fill: #a16207; } .k12 { fill: #94a3b8; } .k13 { fill: #ef4444; } .k14 { fill: #c084fc; }
.key { margin-right: 1.1rem; white-space: nowrap; } .key svg { width: 0.8em; height: 0.8em; margin-right: 0.35em; vertical-align: -0.05em; }
.heat td { text-align: center; padding: 0.45rem 0.9rem; border: 2px solid var(--paper); } .heat td span { display: block; color: var(--ink); opacity: 0.75; font-size: 0.75rem; }
.heat td.off { color: var(--soft); } .heat td.over { outline: 2px solid var(--mark); outline-offset: -3px; } .heat th { padding: 0.25rem 0.9rem; border: 0; text-align: right; }
.h0 { background: color-mix(in srgb, var(--dot) 6%, var(--paper)); }
.h1 { background: color-mix(in srgb, var(--dot) 14%, var(--paper)); }
.h2 { background: color-mix(in srgb, var(--dot) 22%, var(--paper)); }
.h3 { background: color-mix(in srgb, var(--dot) 30%, var(--paper)); }
.h4 { background: color-mix(in srgb, var(--dot) 38%, var(--paper)); }
.h5 { background: color-mix(in srgb, var(--dot) 46%, var(--paper)); }
.h6 { background: color-mix(in srgb, var(--dot) 54%, var(--paper)); }
.h7 { background: color-mix(in srgb, var(--dot) 62%, var(--paper)); }
.h8 { background: color-mix(in srgb, var(--dot) 70%, var(--paper)); }
)";

namespace {

constexpr double kWidth = 1180, kLeft = 76, kRight = 24, kTop = 16, kBottom = 56;

double tick_step(double high, int count) {
  const double rough = high / count, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

// Points stand at equal distances: a range by doubling is read as one.
struct Places {
  std::size_t count;
  double x(double i) const {
    return kLeft + (kWidth - kLeft - kRight) * (i + 0.5) / static_cast<double>(count);
  }
  double width() const { return (kWidth - kLeft - kRight) / static_cast<double>(count); }
};

// From 0; where steps differ by more than kMostTimes, by ratios.
class StepScale {
 public:
  StepScale(double least, double most, double bottom)
      : ratios_(most > kMostTimes * least),
        low_(ratios_ ? least / 1.1 : 0),
        high_(most * 1.05),
        bottom_(bottom) {}

  double operator()(double seconds) const {
    const double part = ratios_ ? std::log(seconds / low_) / std::log(high_ / low_) : seconds / high_;
    return kTop + (bottom_ - kTop) * (1 - part);
  }
  std::vector<double> ticks(double unit) const {
    std::vector<double> out;
    if (!ratios_) {
      const double step = tick_step(high_ / unit, 6);
      for (double v = 0; v * unit <= high_; v += step) out.push_back(v);
      return out;
    }
    for (double power = std::pow(10, std::floor(std::log10(low_ / unit))); power * unit <= high_; power *= 10)
      for (const double factor : {1.0, 3.0})
        if (factor * power * unit >= low_ && factor * power * unit <= high_) out.push_back(factor * power);
    return out;
  }

 private:
  static constexpr double kMostTimes = 20;
  bool ratios_;
  double low_, high_, bottom_;
};

std::string details(const OverAnswer& a, std::size_t i) {
  const OverPoint& p = a.points[i];
  if (!p.runs()) return html_escaped(a.place(i) + " cannot run: " + p.refused);
  const OverFigures& f = p.figures;
  return html_escaped(
      fmt::format("{}: {} ({} to {}), {} tokens/s/GPU, MFU {:.1f} %, {} of {}, {}; {} {:.0f} %", a.place(i),
                  human_seconds(Seconds(f.step.value)), human_seconds(Seconds(f.step.low())),
                  human_seconds(Seconds(f.step.high())), human_count(f.tokens_per_s_per_gpu), 100 * f.mfu,
                  human_bytes(f.needed), human_bytes(f.usable), chance(f.fit_probability), name(f.most()),
                  100 * f.share(f.most())));
}

// Words below the axis, as many as there is room for.
std::string labels(const OverAnswer& a, const Places& places, double y) {
  std::size_t longest = 1;
  for (const std::string& word : a.axes[0].words) longest = std::max(longest, word.size());
  const double room = 7.0 * static_cast<double>(longest) + 12;
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(room / places.width())));
  std::string out;
  for (std::size_t i = 0; i < places.count; i += every)
    out += fmt::format("<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                       places.x(static_cast<double>(i)), y + 16, html_escaped(a.axes[0].words[i]));
  return out + fmt::format("<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                           (kLeft + kWidth - kRight) / 2, y + 40, html_escaped(a.axes[0].key));
}

// What is drawn of each point: a figure with its 80 % interval.
struct Drawn {
  double value, low, high;
};

Drawn drawn_step(const OverFigures& f) { return {f.step.value, f.step.low(), f.step.high()}; }

Drawn drawn_rate(const OverFigures& f) {
  const double tokens = f.tokens_per_s_per_gpu * f.step.value;
  return {f.tokens_per_s_per_gpu, tokens / f.step.high(), tokens / f.step.low()};
}

std::string curve_svg(const OverAnswer& a, CurveOf what) {
  constexpr double kHeight = 420;
  const double bottom = kHeight - kBottom;
  const Places places{a.points.size()};
  const auto drawn = what == CurveOf::kStep ? drawn_step : drawn_rate;
  double most = 0, least = HUGE_VAL;
  for (const OverPoint& p : a.points)
    if (p.runs()) {
      most = std::max(most, drawn(p.figures).high);
      least = std::min(least, drawn(p.figures).low);
    }
  const StepScale y(least, most, bottom);
  const TimeUnit unit = what == CurveOf::kStep ? unit_of(most) : TimeUnit{"tokens/s/GPU", 1};
  std::string out;
  for (const double v : y.ticks(unit.size))
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text text-anchor=\"end\" x=\"{3}\" "
        "y=\"{4:.1f}\">{5}</text>",
        kLeft, y(v * unit.size), kWidth - kRight, kLeft - 6, y(v * unit.size) + 4,
        what == CurveOf::kStep ? fmt::format("{:.4g}", v) : human_count(v));
  // A stretch of points that run is a band and a line; a gap parts them.
  std::string marks;
  for (std::size_t first = 0; first < a.points.size();) {
    std::size_t end = first;
    std::string high, low, line;
    for (; end < a.points.size() && a.points[end].runs(); ++end) {
      const OverFigures& f = a.points[end].figures;
      const Drawn d = drawn(f);
      const double x = places.x(static_cast<double>(end));
      high += fmt::format("{}{:.1f} {:.1f}", high.empty() ? "M" : "L", x, y(d.high));
      low = fmt::format("L{:.1f} {:.1f}", x, y(d.low)) + low;
      line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x, y(d.value));
      marks +=
          fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>",
                      f.fits ? "dot" : "bad", x, y(d.value), places.count > 60 ? 2.5 : 4, details(a, end));
    }
    if (end == first + 1) {  // no band: a line
      const Drawn d = drawn(a.points[first].figures);
      out += fmt::format("<path class=\"curve\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>",
                         places.x(static_cast<double>(first)), y(d.low), y(d.high));
    } else if (end > first)
      out +=
          fmt::format("<path class=\"band\" d=\"{}{}Z\"/><path class=\"curve\" d=\"{}\"/>", high, low, line);
    for (; end < a.points.size() && !a.points[end].runs(); ++end)
      marks +=
          fmt::format("<path class=\"none\" d=\"M{0:.1f} {1:.1f}l8 8m0 -8l-8 8\"><title>{2}</title></path>",
                      places.x(static_cast<double>(end)) - 4, bottom - 12, details(a, end));
    first = end;
  }
  out += marks + labels(a, places, bottom);
  out += fmt::format("<text text-anchor=\"middle\" transform=\"translate(16 {:.1f}) rotate(-90)\">{}</text>",
                     (kTop + bottom) / 2,
                     what == CurveOf::kStep ? fmt::format("step ({})", unit.name) : std::string(unit.name));
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\"><title>{4} over {2}, with its "
      "80 % interval</title>{3}</svg>\n",
      kWidth, kHeight, html_escaped(a.axes[0].key), out, what == CurveOf::kStep ? "step" : unit.name);
}

// What a step consists of at each point, as shares of it.
std::string causes_svg(const OverAnswer& a) {
  constexpr double kHeight = 280;
  const double bottom = kHeight - kBottom;
  const Places places{a.points.size()};
  std::array<bool, kStepCauseCount> seen{};
  std::string out;
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    if (!a.points[i].runs()) continue;
    const OverFigures& f = a.points[i].figures;
    double y = bottom;
    for (std::size_t c = 0; c < f.breakdown.size(); ++c) {
      const double share = std::max(0.0, f.share(static_cast<StepCause>(c)));
      if (share < 5e-4) continue;
      seen[c] = true;
      const double height = (bottom - kTop) * share;
      y -= height;
      out += fmt::format(
          "<rect class=\"k{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}: {} "
          "{:.1f} %</title></rect>",
          c, places.x(static_cast<double>(i)) - 0.42 * places.width(), y, 0.84 * places.width(), height,
          html_escaped(a.place(i)), kStepCauseNames[c], 100 * share);
    }
  }
  for (const int percent : {0, 25, 50, 75, 100})
    out += fmt::format("<text text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{} %</text>", kLeft - 6,
                       bottom - (bottom - kTop) * percent / 100 + 4, percent);
  std::string keys = "<p class=\"run\">";
  for (std::size_t c = 0; c < seen.size(); ++c)
    if (seen[c])
      keys += fmt::format(
          "<span class=\"key\"><svg viewBox=\"0 0 8 8\"><rect class=\"k{}\" width=\"8\" "
          "height=\"8\"/></svg>{}</span> ",
          c, kStepCauseNames[c]);
  return fmt::format(
             "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\"><title>where the time "
             "goes</title>{2}</svg>\n",
             kWidth, kHeight, out + labels(a, places, bottom)) +
         keys + "</p>\n";
}

std::string table(const OverAnswer& a) {
  std::string out = "<div class=\"wide\"><table><tr>";
  for (const OverAxis& axis : a.axes) out += "<th class=\"n\">" + html_escaped(axis.key) + "</th>";
  out +=
      "<th class=\"n\">step</th><th class=\"n\">80 % interval</th><th class=\"n\">memory</th><th "
      "class=\"n\">fits</th><th class=\"n\">MFU</th><th class=\"n\">tokens/s/GPU</th><th>most of "
      "it</th></tr>\n";
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    const OverPoint& p = a.points[i];
    out += "<tr><td class=\"n\">" + html_escaped(a.axes[0].words[i / a.columns()]) + "</td>";
    if (a.axes.size() == 2)
      out += "<td class=\"n\">" + html_escaped(a.axes[1].words[i % a.columns()]) + "</td>";
    if (!p.runs()) {
      out += "<td class=\"reason\" colspan=\"7\">cannot run: " + html_escaped(p.refused) + "</td></tr>\n";
      continue;
    }
    const OverFigures& f = p.figures;
    const auto beside = f.most_beside();
    out += fmt::format(
        "<td class=\"n\">{}</td><td class=\"n\">{} to {}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{:.1f} %</td><td class=\"n\">{}</td><td>{} {:.0f} "
        "%{}</td></tr>\n",
        human_seconds(Seconds(f.step.value)), human_seconds(Seconds(f.step.low())),
        human_seconds(Seconds(f.step.high())), human_bytes(f.needed), html_escaped(chance(f.fit_probability)),
        100 * f.mfu, human_count(f.tokens_per_s_per_gpu), name(f.most()), 100 * f.share(f.most()),
        beside && *beside != f.most() ? fmt::format("; {} {:.0f} %", name(*beside), 100 * f.share(*beside))
                                      : "");
  }
  return out + "</table></div>\n";
}

}  // namespace

// The more colour, the nearer to the best.
std::string over_heat(const OverAnswer& a) {
  double best = 0;
  for (const OverPoint& p : a.points)
    if (p.runs()) best = std::max(best, p.figures.tokens_per_s_per_gpu);
  std::string out = fmt::format("<div class=\"wide\"><table class=\"heat\"><tr><th>{} \\ {}</th>",
                                html_escaped(a.axes[0].key), html_escaped(a.axes[1].key));
  for (const std::string& word : a.axes[1].words) out += "<th>" + html_escaped(word) + "</th>";
  out += "</tr>\n";
  for (std::size_t r = 0; r < a.axes[0].words.size(); ++r) {
    out += "<tr><th>" + html_escaped(a.axes[0].words[r]) + "</th>";
    for (std::size_t c = 0; c < a.columns(); ++c) {
      const OverPoint& p = a.at(r, c);
      const std::string title = details(a, r * a.columns() + c);
      if (!p.runs()) {
        out += fmt::format("<td class=\"off\" title=\"{}\">-</td>", title);
        continue;
      }
      const OverFigures& f = p.figures;
      out += fmt::format("<td class=\"h{:.0f}{}\" title=\"{}\">{}<span>{} /s/GPU</span></td>",
                         8 * f.tokens_per_s_per_gpu / best, f.fits ? "" : " over", title,
                         human_seconds(Seconds(f.step.value)), human_count(f.tokens_per_s_per_gpu));
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string over_pictures(const OverAnswer& a, CurveOf what) {
  return curve_svg(a, what) + "<h2>Where the time goes</h2>\n" + causes_svg(a);
}

std::string over_html(const OverAnswer& a) {
  const auto first =
      std::find_if(a.points.begin(), a.points.end(), [](const OverPoint& p) { return p.runs(); });
  std::string body = fmt::format(
      "<p class=\"run\">stack {}, profile {}; at {}: {} x {} tokens a step on {} x {}, plan {}</p>\n",
      html_escaped(a.base.stack.name), html_escaped(a.base.profile),
      html_escaped(a.place(static_cast<std::size_t>(first - a.points.begin()))), a.base.global_batch,
      a.base.seq, a.base.gpus, html_escaped(a.base.cluster.gpu.name), html_escaped(first->figures.plan));
  if (a.axes.size() == 2) {
    body +=
        "<h2>Step and tokens a second and GPU</h2>\n<p class=\"run\">The more colour, the more tokens a "
        "second; framed: "
        "does not surely fit; hover for the rest.</p>\n" +
        over_heat(a);
  } else {
    body +=
        "<h2>Step</h2>\n<p class=\"run\">The band is the 80 % interval; an open circle does not surely fit, "
        "a cross "
        "cannot run; hover for the rest.</p>\n" +
        over_pictures(a);
  }
  body += "<h2>Every point</h2>\n" + table(a);
  for (const std::string& note : a.notes) body += "<p>" + html_escaped(note) + "</p>\n";
  if (!a.assumed.empty()) body += "<h2>Assumed</h2>\n";
  for (const std::string& line : a.assumed) body += "<p>" + html_escaped(line) + "</p>\n";
  std::string keys = a.axes[0].key;
  if (a.axes.size() == 2) keys += " and " + a.axes[1].key;
  return html_page(fmt::format("{} on {} over {}", a.base.model.name, a.base.cluster.name, keys), kOverStyle,
                   body);
}

}  // namespace foretrain
