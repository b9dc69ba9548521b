#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "report/text_parts.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostLines = 64;
constexpr double kColumnsNeeded = 1.25;  // of a forward, to be seen
constexpr double kColumnsOfAPass = 2;    // in the second chart

enum Glyph : unsigned char {
  kForward,
  kBackward,
  kWeight,
  kMessage,
  kReduce,
  kExchange,
  kOptimizer,
  kGather,
  kWait,
  kGlyphCount
};

Glyph glyph_of(const StepView& view, const Span& span) {
  if (span.wait != Wait::kNone) return kWait;
  switch (view.event(span.event).kind) {
    case EventKind::kForward:
      return kForward;
    case EventKind::kBackward:
    case EventKind::kInput:
      return kBackward;
    case EventKind::kWeight:
      return kWeight;
    case EventKind::kSend:
    case EventKind::kReceive:
      return kMessage;
    case EventKind::kReduce:
      return kReduce;
    case EventKind::kExchange:
    case EventKind::kMeet:
      return kExchange;
    case EventKind::kOptimizer:
      return kOptimizer;
    case EventKind::kGather:
      return kGather;
  }
  return kWait;
}

std::string drawn(Glyph glyph, std::int64_t micro_batch, bool unicode) {
  const auto digit = static_cast<char>(micro_batch % 10);
  switch (glyph) {
    case kForward:
      return std::string(1, static_cast<char>('0' + digit));
    case kBackward:
      return unicode ? "▓" : std::string(1, static_cast<char>('a' + digit));
    case kWeight:
      return unicode ? "░" : std::string(1, static_cast<char>('A' + digit));
    case kMessage:
      return unicode ? "›" : ">";
    case kReduce:
      return unicode ? "≡" : "r";
    case kExchange:
      return unicode ? "×" : "x";
    case kOptimizer:
      return "o";
    case kGather:
      return unicode ? "≈" : "g";
    default:
      return unicode ? "·" : ".";
  }
}

std::string legend(const std::set<Glyph>& seen, bool unicode) {
  const auto words = [&](Glyph glyph) -> std::string {
    const std::string sign = drawn(glyph, 0, unicode);
    switch (glyph) {
      case kForward:
        return "0-9 forward of a micro-batch (its last digit)";
      case kBackward:
        return unicode ? sign + " backward" : "a-j backward (a is 0)";
      case kWeight:
        return unicode ? sign + " backward to weights" : "A-J backward to weights";
      case kMessage:
        return sign + " message";
      case kReduce:
        return sign + " gradient reduce";
      case kExchange:
        return sign + " exchange";
      case kOptimizer:
        return sign + " optimizer";
      case kGather:
        return sign + " parameter gather";
      default:
        return sign + " waiting";
    }
  };
  std::vector<std::string> parts;
  for (const Glyph glyph : seen) parts.push_back(words(glyph));
  return wrapped(parts, "");
}

// A stretch of time, and the columns that it is drawn in.
struct Window {
  Seconds start;
  Seconds column;
  int columns = 0;

  Seconds end() const { return start + column * columns; }
};

class Chart {
 public:
  Chart(const StepView& view, bool unicode) : view_(view), unicode_(unicode) {
    const std::size_t stages = view.spans.size();
    label_width_ = fmt::format("stage {}  ", stages).size();
  }

  int room(int width) const { return std::max(20, width - static_cast<int>(label_width_)); }

  std::string lines(const std::vector<Window>& windows) {
    std::string out = axis(windows);
    const std::size_t stages = view_.spans.size();
    for (std::size_t r = 0; r < stages; ++r) {
      if (stages > kMostLines && r == kMostLines / 2) {
        out += fmt::format("... {} more stages ...\n", stages - kMostLines);
        r = stages - kMostLines / 2;
      }
      std::string line = padded(fmt::format("stage {}", r + 1));
      for (std::size_t w = 0; w < windows.size(); ++w) {
        if (w > 0) line += kBreak;
        line += row(view_.spans[r], windows[w]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
    return out;
  }

  const std::set<Glyph>& seen() const { return seen_; }
  static constexpr std::string_view kBreak = " ~ ";

 private:
  std::string padded(std::string text) const {
    text.resize(std::max(label_width_, text.size()), ' ');
    return text;
  }

  // Two lines: times, and a mark below the first letter of each.
  std::string axis(const std::vector<Window>& windows) const {
    constexpr std::size_t kEvery = 20;
    std::string times = padded(""), marks = times;
    for (std::size_t w = 0; w < windows.size(); ++w) {
      const auto columns = static_cast<std::size_t>(windows[w].columns);
      std::string top(columns, ' '), bottom(columns, ' ');
      for (std::size_t c = 0; c < columns; c += kEvery) {
        const std::string text = human_seconds(windows[w].start + windows[w].column * static_cast<double>(c));
        if (c + text.size() > columns) break;
        top.replace(c, text.size(), text);
        bottom[c] = '|';
      }
      if (w > 0) times += kBreak, marks += std::string(kBreak.size(), ' ');
      times += top;
      marks += bottom;
    }
    times.erase(times.find_last_not_of(' ') + 1);
    marks.erase(marks.find_last_not_of(' ') + 1);
    return times + '\n' + marks + '\n';
  }

  std::string row(const std::vector<Span>& spans, const Window& window) {
    std::string out;
    // Spans follow one another: the first that reaches into the window.
    std::size_t k = static_cast<std::size_t>(
        std::partition_point(spans.begin(), spans.end(),
                             [&](const Span& span) { return span.end <= window.start; }) -
        spans.begin());
    for (int c = 0; c < window.columns; ++c) {
      const Seconds from = window.start + window.column * c, to = from + window.column;
      Seconds by_glyph[kGlyphCount] = {};
      Seconds longest[kGlyphCount] = {};
      std::int64_t micro_batch[kGlyphCount] = {};
      while (k < spans.size() && spans[k].end <= from) ++k;
      for (std::size_t j = k; j < spans.size() && spans[j].start < to; ++j) {
        const Glyph glyph = glyph_of(view_, spans[j]);
        const Seconds part = std::min(to, spans[j].end) - std::max(from, spans[j].start);
        by_glyph[glyph] += part;
        if (part > longest[glyph]) {
          longest[glyph] = part;
          if (glyph <= kWeight) micro_batch[glyph] = view_.event(spans[j].event).micro_batch;
        }
      }
      const auto most = static_cast<Glyph>(std::max_element(by_glyph, by_glyph + kGlyphCount) - by_glyph);
      if (by_glyph[most].value <= 0) {  // the step is over
        out += ' ';
        continue;
      }
      seen_.insert(most);
      out += drawn(most, micro_batch[most], unicode_);
    }
    return out;
  }

  const StepView& view_;
  bool unicode_;
  std::size_t label_width_ = 0;
  std::set<Glyph> seen_;
};

// The forward of median length; and when the last pass ends.
struct Passes {
  Seconds forward;
  Seconds end;
};
Passes passes_of(const StepTrace& trace) {
  std::vector<double> forwards;
  Passes out;
  for (const Event& event : trace.events) {
    if (!is_pass(event.kind)) continue;
    out.end = std::max(out.end, event.end);
    if (event.kind == EventKind::kForward) forwards.push_back((event.end - event.start).value);
  }
  if (forwards.empty()) return out;
  const auto middle = forwards.begin() + static_cast<std::ptrdiff_t>(forwards.size() / 2);
  std::nth_element(forwards.begin(), middle, forwards.end());
  out.forward = Seconds(*middle);
  return out;
}

}  // namespace

std::string chart_text(const StepView& view, const ChartStyle& style, Seconds length) {
  Chart chart(view, style.unicode);
  const int room = chart.room(style.width);
  const Seconds whole = std::max(view.trace.step, length);
  if (!(whole.value > 0)) return "";
  const Window all{Seconds(0), whole / static_cast<double>(room), room};
  std::string out = fmt::format("\nthe step in time, a column is {}\n", human_seconds(all.column));
  out += chart.lines({all});

  const Passes passes = passes_of(view.trace);
  const Seconds column = passes.forward / kColumnsOfAPass;
  if (column.value > 0 && passes.forward < all.column * kColumnsNeeded) {
    const int first = (room - static_cast<int>(Chart::kBreak.size())) / 2;
    const int last = room - static_cast<int>(Chart::kBreak.size()) - first;
    const bool whole_passes = column * room >= passes.end;
    out += fmt::format("\nthe passes{}, a column is {}\n", whole_passes ? " alone" : "' beginning and end",
                       human_seconds(column));
    const int columns = static_cast<int>(std::ceil(std::min(passes.end / column, static_cast<double>(room))));
    if (whole_passes)
      out += chart.lines({{Seconds(0), column, columns}});
    else
      out += chart.lines({{Seconds(0), column, first}, {passes.end - column * last, column, last}});
  }
  return out + legend(chart.seen(), style.unicode);
}

}  // namespace foretrain
