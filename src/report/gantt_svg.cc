#include "report/gantt_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace foretrain {

const std::string_view kGanttStyle = R"(
.gantt text { font-size: 11px; } .gantt .in { fill: #fff; font-size: 10px; text-anchor: middle; pointer-events: none; }
.row { fill: var(--line); fill-opacity: 0.6; } .tick { stroke: var(--line); }
.fwd { fill: #3b82f6; } .bwd { fill: #0f9f6e; } .wgt { fill: #84b829; } .msg { fill: #f59e0b; } .red { fill: #8b5cf6; }
.gat { fill: #c084fc; } .exc { fill: #ec4899; } .opt { fill: #ef4444; } .idl { fill: var(--line); }
.path { fill: none; stroke: var(--mark); stroke-width: 2; stroke-opacity: 0.9; stroke-linejoin: round; pointer-events: none; }
.key { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px; margin: 0 0.35em 0 1em; vertical-align: -0.05em; }
)";

namespace {

constexpr double kWidth = 1280, kLeft = 74, kRight = 12, kTop = 24;
constexpr std::size_t kMostBoxes = 12'000;
constexpr std::size_t kMostRows = 128;
constexpr int kColumns = 1194;  // where boxes are too many

// A look for each kind of thing that a stage does, and its name.
struct Look {
  std::string_view style;
  std::string_view meaning;
};
constexpr std::array<Look, 9> kLooks = {{{"fwd", "forward"},
                                         {"bwd", "backward"},
                                         {"wgt", "backward to weights"},
                                         {"msg", "message"},
                                         {"red", "gradient reduce"},
                                         {"gat", "parameter gather"},
                                         {"exc", "exchange and gradient norm"},
                                         {"opt", "optimizer"},
                                         {"idl", "waiting"}}};
constexpr std::size_t kIdle = 8;

std::size_t look_of(const StepView& view, const Span& span) {
  if (span.wait != Wait::kNone) return kIdle;
  switch (view.event(span.event).kind) {
    case EventKind::kForward:
      return 0;
    case EventKind::kBackward:
    case EventKind::kInput:
      return 1;
    case EventKind::kWeight:
      return 2;
    case EventKind::kSend:
    case EventKind::kReceive:
      return 3;
    case EventKind::kReduce:
      return 4;
    case EventKind::kGather:
      return 5;
    case EventKind::kExchange:
    case EventKind::kMeet:
      return 6;
    case EventKind::kOptimizer:
      return 7;
  }
  return kIdle;
}

class Gantt {
 public:
  explicit Gantt(const StepView& view)
      : view_(view),
        rows_(std::min(view.spans.size(), kMostRows)),
        height_(rows_ <= 8    ? 34
                : rows_ <= 16 ? 24
                : rows_ <= 48 ? 14
                              : 7) {
    std::size_t boxes = 0;
    for (std::size_t r = 0; r < rows_; ++r) boxes += view.spans[stage(r)].size();
    whole_ = boxes <= kMostBoxes;
  }

  std::string draw() const {
    const double bottom = kTop + height_ * static_cast<double>(rows_);
    std::string out = fmt::format(
        "<svg class=\"gantt\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" height=\"{1:.0f}\" role=\"img\">"
        "<title>the step in time</title>",
        kWidth, bottom + 8);
    out += ticks(bottom);
    for (std::size_t r = 0; r < rows_; ++r) out += row(r);
    return out + path() + "</svg>\n";
  }

 private:
  // Of more stages than rows the first and the last are drawn.
  std::size_t stage(std::size_t row) const {
    return row < rows_ - rows_ / 2 ? row : view_.spans.size() - rows_ + row;
  }
  double x(Seconds t) const { return kLeft + (kWidth - kLeft - kRight) * (t / view_.trace.step); }
  double y(std::size_t row) const { return kTop + height_ * static_cast<double>(row); }

  std::string ticks(double bottom) const {
    const double step = view_.trace.step.value;
    const double raw = step / 10, decade = std::pow(10.0, std::floor(std::log10(raw)));
    const double each = (raw / decade > 5 ? 10 : raw / decade > 2 ? 5 : raw / decade > 1 ? 2 : 1) * decade;
    std::string out;
    for (int k = 0; each * k <= step * 1.0001; ++k)
      out += fmt::format(
          "<path class=\"tick\" d=\"M{0:.1f} {1}V{2:.0f}\"/><text text-anchor=\"middle\" x=\"{0:.1f}\" "
          "y=\"{3}\">{4}</text>",
          x(Seconds(each * k)), kTop - 4, bottom, kTop - 9, human_seconds(Seconds(each * k)));
    return out;
  }

  std::string row(std::size_t r) const {
    const std::size_t s = stage(r);
    std::string out =
        fmt::format("<rect class=\"row\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>", kLeft,
                    y(r) + 1, kWidth - kLeft - kRight, height_ - 2);
    if (height_ > 10 || r % 4 == 0)
      out += fmt::format("<text text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">stage {}</text>", kLeft - 6,
                         y(r) + height_ / 2 + 4, s + 1);
    return out + (whole_ ? boxes(r) : columns(r)) + "\n";
  }

  // A title only where somebody can point at it.
  std::string box(std::size_t r, std::size_t look, double from, double to, std::string_view title) const {
    const double gap = to - from > 3 ? 0.5 : 0;
    std::string out =
        fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"",
                    kLooks[look].style, from, y(r) + 1, std::max(0.3, to - from - gap), height_ - 2);
    return out + (whole_ || gap > 0 ? fmt::format("><title>{}</title></rect>", title) : "/>");
  }

  std::string boxes(std::size_t r) const {
    const std::size_t s = stage(r);
    std::string out;
    for (const Span& span : view_.spans[s]) {
      const std::size_t look = look_of(view_, span);
      const double from = x(span.start), to = x(span.end);
      const std::string what = look == kIdle ? std::string(name(span.wait)) : label(view_.event(span.event));
      if (look == kIdle && to - from < 1) continue;
      out += box(r, look, from, to,
                 fmt::format("{} on stage {}: {} to {}, {}", what, s + 1, human_seconds(span.start),
                             human_seconds(span.end), human_seconds(span.length())));
      if (look <= 2 && to - from > 14 && height_ > 10)
        out += fmt::format("<text class=\"in\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", (from + to) / 2,
                           y(r) + height_ / 2 + 2.5, view_.event(span.event).micro_batch);
    }
    return out;
  }

  std::string columns(std::size_t r) const {
    const std::size_t s = stage(r);
    const auto& spans = view_.spans[s];
    const Seconds each = view_.trace.step / kColumns;
    std::string out;
    std::size_t k = 0, look = kIdle;
    int since = 0;
    const auto flush = [&](int until) {
      if (look != kIdle && until > since)
        out += box(r, look, x(each * since), x(each * until),
                   fmt::format("mostly {} on stage {}: {} to {}", kLooks[look].meaning, s + 1,
                               human_seconds(each * since), human_seconds(each * until)));
      since = until;
    };
    for (int c = 0; c < kColumns; ++c) {
      const Seconds from = each * c, to = from + each;
      std::array<Seconds, kLooks.size()> parts{};
      while (k < spans.size() && spans[k].end <= from) ++k;
      for (std::size_t j = k; j < spans.size() && spans[j].start < to; ++j)
        parts[look_of(view_, spans[j])] += std::min(to, spans[j].end) - std::max(from, spans[j].start);
      const auto most =
          static_cast<std::size_t>(std::max_element(parts.begin(), parts.end()) - parts.begin());
      if (most == look) continue;
      flush(c);
      look = most;
    }
    flush(kColumns);
    return out;
  }

  std::string path() const {
    if (view_.spans.size() < 2 || rows_ < view_.spans.size()) return "";
    std::string d;
    std::int64_t rank = -1;
    for (std::size_t k = 0; k < view_.path.links.size(); ++k) {
      const PathLink& link = view_.path.links[k];
      const double low = y(static_cast<std::size_t>(link.rank)) + height_ - (height_ > 10 ? 4 : 2);
      if (link.rank != rank) d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", x(link.from), low);
      rank = link.rank;
      const bool turns = k + 1 == view_.path.links.size() || view_.path.links[k + 1].rank != rank;
      if (turns) d += fmt::format("L{:.1f} {:.1f}", x(link.to), low);
    }
    return "<path class=\"path\" d=\"" + d + "\"/>";
  }

  const StepView& view_;
  std::size_t rows_;
  double height_;
  bool whole_ = true;
};

}  // namespace

std::string gantt_svg(const StepView& view) { return Gantt(view).draw(); }

std::string gantt_legend(const StepView& view) {
  std::array<bool, kLooks.size()> seen{};
  for (const auto& spans : view.spans)
    for (const Span& span : spans) seen[look_of(view, span)] = true;
  std::string out;
  for (std::size_t i = 0; i < kLooks.size(); ++i)
    if (seen[i])
      out += fmt::format("<svg class=\"key\"><rect class=\"{}\" width=\"100%\" height=\"100%\"/></svg>{}",
                         kLooks[i].style, kLooks[i].meaning);
  return out;
}

}  // namespace foretrain
