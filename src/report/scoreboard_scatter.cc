#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/html.h"
#include "report/scoreboard_html.h"

namespace foretrain {
namespace {

constexpr double kWidth = 760, kHeight = 600, kLeft = 62, kRight = 16, kTop = 12, kBottom = 46;
constexpr std::size_t kMostTold = 4000;  // dots with a text of their own

// Seconds by ratios, the same on both axes.
struct Scale {
  double low, high;
  double part(double v) const { return std::log(v / low) / std::log(high / low); }
  double x(double v) const { return kLeft + (kWidth - kLeft - kRight) * part(v); }
  double y(double v) const { return kTop + (kHeight - kTop - kBottom) * (1 - part(v)); }
};

// "0.3 s", "30 s": powers of ten, and three times these.
std::string ticks(const Scale& scale) {
  std::string out;
  for (double power = std::pow(10, std::floor(std::log10(scale.low))); power <= scale.high; power *= 10)
    for (const double v : {power, 3 * power}) {
      if (v < scale.low || v > scale.high) continue;
      const std::string text = fmt::format("{:g} s", v);
      out += fmt::format(
          "<path class=\"grid\" d=\"M{0:.1f} {1}V{2}M{3} {4:.1f}H{5}\"/><text text-anchor=\"middle\" "
          "x=\"{0:.1f}\" "
          "y=\"{6}\">{7}</text><text text-anchor=\"end\" x=\"{8}\" y=\"{9:.1f}\">{7}</text>",
          scale.x(v), kTop, kHeight - kBottom, kLeft, scale.y(v), kWidth - kRight, kHeight - kBottom + 17,
          text, kLeft - 6, scale.y(v) + 4);
    }
  return out;
}

// Between predictions a tenth too short and a tenth too long.
std::string band(const Scale& s) {
  constexpr double kOff = 1.1;
  const auto point = [&](double x, double y) {
    return fmt::format("{:.1f} {:.1f}", s.x(std::clamp(x, s.low, s.high)), s.y(std::clamp(y, s.low, s.high)));
  };
  return fmt::format("<path class=\"band\" d=\"M{}L{}L{}L{}L{}L{}Z\"/><path class=\"same\" d=\"M{}L{}\"/>",
                     point(s.low, s.low), point(s.low, s.low * kOff), point(s.high / kOff, s.high),
                     point(s.high, s.high), point(s.high, s.high / kOff), point(s.low * kOff, s.low),
                     point(s.low, s.low), point(s.high, s.high));
}

std::string_view kind_of(const RowScore& row) {
  if (row.broken) return "apart";
  return row.covered() ? "in" : "out";
}

std::string dot(const Scale& scale, const RowScore& row, bool told) {
  const double x = scale.x(row.measured->value), y = scale.y(row.predicted.value);
  const std::string place =
      fmt::format("class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\"", kind_of(row), x, y);
  if (!told) return fmt::format("<circle {}/>", place);
  return fmt::format(
      "<circle {}><title>{}</title></circle>", place,
      html_escaped(fmt::format("{} ({}): measured {}, predicted {} ({} to {}), {:+.1f} %", row.id, row.source,
                               human_seconds(*row.measured), human_seconds(Seconds(row.predicted.value)),
                               human_seconds(Seconds(row.predicted.low())),
                               human_seconds(Seconds(row.predicted.high())), 100 * *row.error())));
}

}  // namespace

std::string scoreboard_scatter(const std::vector<RowScore>& rows) {
  std::vector<const RowScore*> scored;
  double low = HUGE_VAL, high = 0;
  for (const RowScore& row : rows) {
    if (!row.error() || row.predicted.value <= 0) continue;
    scored.push_back(&row);
    low = std::min({low, row.measured->value, row.predicted.value});
    high = std::max({high, row.measured->value, row.predicted.value});
  }
  if (scored.empty()) return {};
  // Those set apart lie at the bottom, those outside their interval on top.
  const auto depth = [](const RowScore* row) { return row->broken ? 0 : row->covered() ? 1 : 2; };
  std::stable_sort(scored.begin(), scored.end(),
                   [&](const RowScore* a, const RowScore* b) { return depth(a) < depth(b); });
  const Scale scale{low / 1.3, high * 1.3};
  std::string out = ticks(scale) + band(scale);
  for (const RowScore* row : scored) out += dot(scale, *row, scored.size() <= kMostTold);
  out += fmt::format("<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">measured step</text>",
                     (kLeft + kWidth - kRight) / 2, kHeight - 8);
  out += fmt::format(
      "<text text-anchor=\"middle\" transform=\"translate(13 {:.1f}) rotate(-90)\">predicted step</text>",
      (kTop + kHeight - kBottom) / 2);
  return fmt::format(
      "<div class=\"wide\"><svg class=\"scatter\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "role=\"img\"><title>measured against predicted steps</title>{2}</svg></div>\n",
      kWidth, kHeight, out);
}

}  // namespace foretrain
