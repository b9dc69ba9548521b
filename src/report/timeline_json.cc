#include "report/timeline_json.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <iterator>

#include "base/json.h"
#include "report/lanes.h"
#include "report/trace_json.h"
#include "trace/memory_track.h"

namespace foretrain {
namespace {

constexpr int kEventKinds = static_cast<int>(EventKind::kReceive) + 1;
constexpr int kWaitKinds = static_cast<int>(Wait::kStages) + 1;
constexpr std::size_t kMostMemoryPoints = 200'000;  // of all stages

std::int64_t nanoseconds(Seconds t) { return static_cast<std::int64_t>(std::llround(t.value * 1e9)); }
std::int64_t whole(Bytes b) { return static_cast<std::int64_t>(std::llround(b.value)); }

class TimelineWriter {
 public:
  TimelineWriter(const StepView& view, TraceCut cut) : view_(view), cut_(std::move(cut)) {
    places_.assign(view.trace.events.size(), -1);
    for (const std::int64_t rank : cut_.stages)
      for (const std::int32_t event : view.index.rank(rank)) {
        places_[static_cast<std::size_t>(event)] = static_cast<std::int64_t>(shown_.size());
        shown_.push_back(event);
      }
  }

  std::string write() {
    head();
    events();
    idle();
    path();
    memory();
    pieces();
    return std::move(out_) + "}";
  }

 private:
  template <class Values, class Figure>
  void column(std::string_view name, const Values& values, const Figure& figure, bool first = false) {
    fmt::format_to(std::back_inserter(out_), "{}\"{}\":[", first ? "" : ",", name);
    const char* between = "";
    for (const auto& value : values) {
      fmt::format_to(std::back_inserter(out_), "{}{}", between, figure(value));
      between = ",";
    }
    out_ += ']';
  }

  template <class Kind>
  void names(std::string_view key, int count) {
    fmt::format_to(std::back_inserter(out_), ",\n\"{}\":[", key);
    for (int i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<Kind, Lane>)
        out_ += (i > 0 ? "," : "") + json_text(kLaneNames[static_cast<std::size_t>(i)]);
      else
        out_ += (i > 0 ? "," : "") + json_text(name(static_cast<Kind>(i)));
    }
    out_ += ']';
  }

  void head() {
    fmt::format_to(std::back_inserter(out_), "{{\"step_ns\":{},\"stages\":{},\"note\":{}",
                   nanoseconds(view_.trace.step), view_.trace.pipeline.stages, json_text(cut_.note));
    column("shown", cut_.stages, std::identity());
    names<EventKind>("kinds", kEventKinds);
    names<Lane>("lanes", static_cast<int>(kLaneNames.size()));
    names<Wait>("waits", kWaitKinds);
  }

  void events() {
    const auto of = [this](auto figure) {
      return [this, figure](std::int32_t i) { return figure(view_.event(i)); };
    };
    out_ += ",\n\"events\":{";
    column("stage", shown_, of([](const Event& e) { return e.stage; }), true);
    column("lane", shown_, [this](std::int32_t i) { return static_cast<int>(lane_of(view_, i)); });
    column("kind", shown_, of([](const Event& e) { return static_cast<int>(e.kind); }));
    column("micro_batch", shown_, of([](const Event& e) { return e.micro_batch; }));
    column("piece", shown_,
           of([this](const Event& e) { return is_pass(e.kind) ? view_.trace.piece(e) : -1; }));
    column("from_ns", shown_, of([](const Event& e) { return nanoseconds(e.start); }));
    column("to_ns", shown_, of([](const Event& e) { return nanoseconds(e.end); }));
    column("other_stage", shown_,
           [this](std::int32_t i) { return is_message(view_.event(i).kind) ? other_end(view_, i) : -1; });
    out_ += '}';
  }

  void idle() {
    std::vector<std::pair<std::int64_t, Span>> waits;
    for (const std::int64_t rank : cut_.stages)
      for (const Span& span : view_.spans[static_cast<std::size_t>(rank)])
        if (span.wait != Wait::kNone) waits.emplace_back(rank, span);
    out_ += ",\n\"idle\":{";
    column(
        "stage", waits, [](const auto& w) { return w.first; }, true);
    column("wait", waits, [](const auto& w) { return static_cast<int>(w.second.wait); });
    column("from_ns", waits, [](const auto& w) { return nanoseconds(w.second.start); });
    column("to_ns", waits, [](const auto& w) { return nanoseconds(w.second.end); });
    out_ += '}';
  }

  void path() {
    const std::vector<PathLink>& links = view_.path.links;
    out_ += ",\n\"path\":{";
    column(
        "event", links,
        [this](const PathLink& link) {
          return link.event < 0 ? std::int64_t{-1} : places_[static_cast<std::size_t>(link.event)];
        },
        true);
    column("stage", links, [](const PathLink& link) { return link.rank; });
    column("from_ns", links, [](const PathLink& link) { return nanoseconds(link.from); });
    column("to_ns", links, [](const PathLink& link) { return nanoseconds(link.to); });
    out_ += '}';
  }

  // As many stages as there is room for.
  void memory() {
    out_ += ",\n\"memory\":[";
    std::size_t points = 0;
    for (const std::int64_t rank : cut_.stages) {
      std::vector<MemoryPoint> track;  // of one moment the last
      for (const MemoryPoint& point : memory_track(view_.trace, rank)) {
        if (!track.empty() && nanoseconds(track.back().at) == nanoseconds(point.at)) track.pop_back();
        track.push_back(point);
      }
      if (points > 0 && points + track.size() > kMostMemoryPoints) break;
      fmt::format_to(std::back_inserter(out_), "{}{{\"stage\":{}", points > 0 ? ",\n" : "", rank);
      points += track.size();
      column("at_ns", track, [](const MemoryPoint& p) { return nanoseconds(p.at); });
      column("allocated", track, [](const MemoryPoint& p) { return whole(p.allocated); });
      column("held", track, [](const MemoryPoint& p) { return whole(p.held); });
      out_ += '}';
    }
    out_ += ']';
  }

  void pieces() {
    out_ += ",\n\"pieces\":[";
    const char* between = "";
    for (const TracedChunk& chunk : view_.trace.chunks) {
      fmt::format_to(std::back_inserter(out_), "{}{{", between);
      for (std::size_t kind = 0; kind < chunk.by_cause.size(); ++kind) {
        fmt::format_to(std::back_inserter(out_), "{}\"{}\":{{", kind > 0 ? "," : "",
                       name(static_cast<EventKind>(kind)));
        const char* comma = "";
        for (std::size_t i = 0; i < chunk.by_cause[kind].size(); ++i) {
          const Seconds part = chunk.by_cause[kind][i];
          if (part.value <= 0) continue;
          fmt::format_to(std::back_inserter(out_), "{}\"{}\":{}", comma, kStepCauseNames[i], part.value);
          comma = ",";
        }
        out_ += '}';
      }
      out_ += '}';
      between = ",\n";
    }
    out_ += ']';
  }

  const StepView& view_;
  const TraceCut cut_;
  std::vector<std::int32_t> shown_;   // events, stage by stage
  std::vector<std::int64_t> places_;  // of each event among them; -1: not shown
  std::string out_;
};

}  // namespace

std::string timeline_json(const StepView& view) {
  return TimelineWriter(view, cut_trace(view.trace, {}, kMostTimelineEvents)).write();
}

}  // namespace foretrain
