#include "report/trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/json.h"
#include "base/text.h"
#include "job/mesh.h"
#include "job/pipeline.h"
#include "report/lanes.h"
#include "spec/plan_text.h"
#include "trace/memory_track.h"

namespace foretrain {
namespace {

constexpr int kLanesEach = 100;  // thread ids of a stage: what overlaps in a lane gets one of its own

// Times are whole eighths of a microsecond. Readers add `dur` to `ts` in floating point, or cut both to whole
// nanoseconds (Perfetto): eighths come out exactly either way, so that neighbours touch and never overlap.
double eighths(Seconds t) { return std::nearbyint(t.value * 8e6); }
double microseconds_of(double eighths) { return eighths / 8; }

// Names that chrome://tracing reserves colours for.
std::string_view colour(EventKind kind) {
  switch (kind) {
    case EventKind::kForward:
      return "good";
    case EventKind::kBackward:
    case EventKind::kInput:
      return "rail_response";
    case EventKind::kWeight:
      return "rail_animation";
    case EventKind::kSend:
    case EventKind::kReceive:
      return "yellow";
    case EventKind::kReduce:
    case EventKind::kGather:
      return "olive";
    case EventKind::kExchange:
    case EventKind::kMeet:
      return "generic_work";
    case EventKind::kOptimizer:
      return "terrible";
  }
  return "grey";
}

class TraceWriter {
 public:
  TraceWriter(const Run& run, const StepView& view, const TraceCut& cut)
      : run_(run), view_(view), cut_(cut), shown_(view.spans.size(), false) {
    for (const std::int64_t r : cut.stages) shown_[static_cast<std::size_t>(r)] = true;
    for (const TracedChunk& chunk : view.trace.chunks)
      for (const auto& parts : chunk.by_cause) {
        std::string text;
        for (std::size_t i = 0; i < parts.size(); ++i)
          if (parts[i].value > 0)
            text += fmt::format(",\"{}_ms\":{}", kStepCauseNames[i], thousandth(parts[i] * 1000.0));
        pass_args_.push_back(text);
      }
  }

  std::string write() {
    head();
    for (const std::int64_t r : cut_.stages) stage(r);
    path();
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  static double thousandth(Seconds t) { return std::nearbyint(t.value * 1e3) / 1e3; }

  void head() {
    const Plan& plan = run_.plan;
    const std::int64_t gpus = mesh_of(plan).stage_ranks();
    std::string note =
        gpus == 1 ? "A process is a pipeline stage, one GPU. "
                  : fmt::format(
                        "A process is a pipeline stage: its {} GPUs (tp x cp x dp) do the same at the "
                        "same time. ",
                        gpus);
    note += "Recomputation is one slice at the start of a backward; it really comes layer by layer.";
    if (!cut_.note.empty()) note += " " + cut_.note + ".";
    fmt::format_to(std::back_inserter(out_),
                   "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"program\":\"foretrain\",\"model\":{},"
                   "\"cluster\":{},\"gpus\":\"{}\",\"stack\":{},\"plan\":{},\"schedule\":\"{}\","
                   "\"micro_batches\":\"{}\",\"step_s\":\"{}\",\"note\":{}}},\"traceEvents\":[",
                   json_text(run_.model.name), json_text(run_.cluster.name), run_.gpus,
                   json_text(run_.stack.name), json_text(to_text(plan)), name(pipeline_of(plan).schedule),
                   run_.micro_batches(), view_.trace.step.value, json_text(note));
  }

  void process(std::int64_t pid, std::string_view name, std::int64_t place) {
    add("{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":{}}}}}", pid,
        json_text(name));
    add("{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"sort_index\":{}}}}}", pid,
        place);
  }

  void thread(std::int64_t pid, std::int64_t tid, std::string_view name) {
    add("{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", pid, tid,
        json_text(name));
    add("{{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":{0},\"tid\":{1},\"args\":{{\"sort_index\":{1}}"
        "}}}",
        pid, tid);
  }

  void slice(std::int64_t pid, std::int64_t tid, std::string_view name, std::string_view category,
             std::string_view cname, Seconds start, Seconds end, std::string_view args) {
    const double from = eighths(start);
    add("{{\"name\":\"{}\",\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{},\"dur\":{},\"pid\":{},\"tid\":{},\"cname\":"
        "\"{}\",\"args\":{{{}}}}}",
        name, category, microseconds_of(from), microseconds_of(eighths(end) - from), pid, tid, cname, args);
  }

  static std::int64_t pid_of(std::int64_t rank) { return rank + 1; }

  std::int64_t other_end(std::int32_t i) const { return foretrain::other_end(view_, i); }

  static std::int64_t number(Lane lane) { return static_cast<std::int64_t>(lane) + 1; }
  static std::string_view name_of(Lane lane) { return kLaneNames[static_cast<std::size_t>(lane)]; }

  // A thread of the lane that is free; usually there is just one.
  std::int64_t thread_of(std::int64_t rank, Lane lane, Seconds start, Seconds end) {
    auto& ends = lane_ends_[static_cast<std::size_t>(lane)];
    std::size_t k = 0;
    while (k < ends.size() && k < kLanesEach / 10 - 1 && eighths(start) < ends[k]) ++k;
    const std::int64_t tid = pid_of(rank) * kLanesEach + number(lane) + 10 * static_cast<std::int64_t>(k);
    if (k == ends.size()) {
      thread(pid_of(rank), tid,
             k == 0 ? std::string(name_of(lane)) : fmt::format("{} ({})", name_of(lane), k + 1));
      ends.push_back(0);
    }
    ends[k] = eighths(end);
    return tid;
  }

  void stage(std::int64_t rank) {
    const std::int64_t gpus = mesh_of(run_.plan).stage_ranks(), pid = pid_of(rank);
    process(pid,
            gpus == 1 ? fmt::format("stage {} (GPU {})", rank + 1, rank)
                      : fmt::format("stage {} (GPUs {} to {})", rank + 1, rank * gpus, (rank + 1) * gpus - 1),
            rank);
    for (auto& ends : lane_ends_) ends.clear();
    for (const std::int32_t i : view_.index.rank(rank)) event(i);
    waits(rank);
    memory(rank);
  }

  void event(std::int32_t i) {
    const Event& e = view_.event(i);
    const std::int64_t pid = pid_of(e.stage), tid = thread_of(e.stage, lane_of(view_, i), e.start, e.end);
    if (is_pass(e.kind)) {
      const auto piece = static_cast<std::size_t>(view_.trace.piece(e));
      const auto kind = static_cast<std::size_t>(pass_kind(e.kind));
      slice(pid, tid, label(e), name(e.kind), colour(e.kind), e.start, e.end,
            fmt::format("\"micro_batch\":{},\"chunk\":{}{}", e.micro_batch, e.chunk,
                        pass_args_[4 * piece + kind]));
      const Seconds again =
          view_.trace.chunks[piece].by_cause[kind][static_cast<std::size_t>(Cause::kRecompute)];
      if (again.value > 0)
        slice(pid, tid, "recompute", "recompute", "rail_load", e.start, std::min(e.end, e.start + again), "");
      if (e.kind != EventKind::kWeight) arrow_end(e, tid, view_.index.down(i));
    } else if (is_message(e.kind)) {
      const bool sends = e.kind == EventKind::kSend, down = view_.index.down(i);
      slice(pid, tid, fmt::format("{} {}", down ? "activation" : "gradient", e.micro_batch), name(e.kind),
            colour(e.kind), e.start, e.end,
            fmt::format("\"micro_batch\":{},\"chunk\":{},\"{}_stage\":{}", e.micro_batch, e.chunk,
                        sends ? "to" : "from", other_end(i) + 1));
      if (sends && shown_[static_cast<std::size_t>(other_end(i))])
        add("{{\"name\":\"message\",\"cat\":\"message\",\"ph\":\"s\",\"id\":{},\"ts\":{},\"pid\":{},"
            "\"tid\":{}}}",
            i, microseconds_of(eighths(e.start)), pid, tid);
    } else {
      slice(pid, tid, name(e.kind), name(e.kind), colour(e.kind), e.start, e.end,
            e.kind == EventKind::kReduce ? fmt::format("\"bucket\":{}", e.micro_batch) : std::string());
    }
  }

  // Where the message that a pass used was sent from a stage that is shown.
  void arrow_end(const Event& e, std::int64_t tid, bool down) {
    const std::int64_t from = view_.index.sender(view_.trace.piece(e), down);
    if (from < 0 || !shown_[static_cast<std::size_t>(view_.trace.pipeline.rank(from))]) return;
    const std::int32_t send = view_.index.send(from, e.micro_batch, down);
    if (send < 0) return;
    add("{{\"name\":\"message\",\"cat\":\"message\",\"ph\":\"f\",\"bp\":\"e\",\"id\":{},\"ts\":{},\"pid\":{},"
        "\"tid\":{}}}",
        send, microseconds_of(eighths(e.start)), pid_of(e.stage), tid);
  }

  void waits(std::int64_t rank) {
    for (const Span& span : view_.spans[static_cast<std::size_t>(rank)]) {
      if (span.wait == Wait::kNone) continue;
      std::string args;
      if (span.event >= 0 && is_pass(view_.event(span.event).kind))
        args = fmt::format("\"before\":\"{}\"", label(view_.event(span.event)));
      slice(pid_of(rank), thread_of(rank, Lane::kWaits, span.start, span.end), name(span.wait), "wait",
            "grey", span.start, span.end, args);
    }
  }

  // Two counters: all that is allocated, and what of it is held for backwards.
  void memory(std::int64_t rank) {
    const std::vector<MemoryPoint> track = memory_track(view_.trace, rank);
    for (std::size_t k = 0; k < track.size(); ++k) {
      if (k + 1 < track.size() && eighths(track[k + 1].at) == eighths(track[k].at)) continue;
      counter("held for backwards (GiB)", rank, track[k].at, track[k].held);
      counter("allocated (GiB)", rank, track[k].at, track[k].allocated);
    }
  }

  void counter(std::string_view name, std::int64_t rank, Seconds at, Bytes bytes) {
    add("{{\"name\":\"{}\",\"ph\":\"C\",\"ts\":{},\"pid\":{},\"args\":{{\"GiB\":{}}}}}", name,
        microseconds_of(eighths(at)), pid_of(rank), std::nearbyint(bytes / gib(1) * 1e6) / 1e6);
  }

  void path() {
    const std::int64_t pid = pid_of(view_.trace.pipeline.stages), tid = pid * kLanesEach + 1;
    process(pid, "critical path", -1);
    thread(pid, tid, "critical path");
    for (const PathLink& link : view_.path.links) {
      if (eighths(link.to) == eighths(link.from)) continue;
      const bool known = link.event >= 0;
      slice(pid, tid, known ? label(view_.event(link.event)) : "wait",
            known ? name(view_.event(link.event).kind) : "wait",
            known ? colour(view_.event(link.event).kind) : "grey", link.from, link.to,
            fmt::format("\"stage\":{}", link.rank + 1));
    }
  }

  const Run& run_;
  const StepView& view_;
  const TraceCut& cut_;
  std::vector<bool> shown_;
  std::vector<std::string> pass_args_;  // by piece and kind of pass
  std::array<std::vector<double>, kLaneNames.size()> lane_ends_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

Result<std::vector<std::int64_t>> parse_stages(std::string_view text, std::int64_t stages) {
  std::vector<std::int64_t> chosen;
  for (const std::string_view part : split(text, ',')) {
    const auto ends = split(part, '-');
    const auto first = parse_integer(ends.front()), last = parse_integer(ends.back());
    if (ends.size() > 2 || !first || !last || *first < 1 || *last < *first || *last > stages)
      return fail(fmt::format("found {}, expected stages from 1 to {} such as {}", quoted(part), stages,
                              stages < 4 ? "1" : "1-2,4"));
    for (std::int64_t s = *first; s <= *last; ++s) chosen.push_back(s - 1);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

TraceCut cut_trace(const StepTrace& trace, std::vector<std::int64_t> asked, std::size_t most_events) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(trace.pipeline.stages), 0);
  for (const Event& event : trace.events) ++counts[static_cast<std::size_t>(event.stage)];
  const bool chosen = !asked.empty();
  if (!chosen)
    for (std::int64_t r = 0; r < trace.pipeline.stages; ++r) asked.push_back(r);
  // From both ends, by turns, as long as there is room.
  TraceCut cut;
  std::size_t events = 0, low = 0, high = asked.size();
  while (low < high) {
    const bool from_start = low <= asked.size() - high;
    const std::int64_t next = from_start ? asked[low] : asked[high - 1];
    events += counts[static_cast<std::size_t>(next)];
    if (!cut.stages.empty() &&
        (static_cast<std::int64_t>(cut.stages.size()) == kMostTracedStages || events > most_events))
      break;
    cut.stages.push_back(next);
    from_start ? ++low : --high;
  }
  std::sort(cut.stages.begin(), cut.stages.end());
  if (low < high)
    cut.note = fmt::format(
        "Cut to {} of {} stages, the first and the last{}: at most {} stages and {} events are shown",
        cut.stages.size(), trace.pipeline.stages, chosen ? " of those asked for" : "", kMostTracedStages,
        with_commas(static_cast<std::int64_t>(most_events)));
  else if (cut.stages.size() < counts.size())
    cut.note = fmt::format("Cut to {} of {} stages, as asked", cut.stages.size(), trace.pipeline.stages);
  return cut;
}

std::string trace_json(const Run& run, const StepView& view, const TraceCut& cut) {
  return TraceWriter(run, view, cut).write();
}

}  // namespace foretrain
