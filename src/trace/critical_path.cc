#include "trace/critical_path.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {
namespace {

constexpr double kRounding = 1e-12;  // of the step

class Walk {
 public:
  Walk(const StepTrace& trace, const TraceIndex& index)
      : trace_(trace), index_(index), rounding_(kRounding * trace.step.value) {
    // Where each event stands among its rank's.
    places_.resize(trace.events.size());
    for (std::int64_t r = 0; r < trace.pipeline.stages; ++r) {
      const auto events = index.rank(r);
      for (std::size_t k = 0; k < events.size(); ++k) places_[static_cast<std::size_t>(events[k])] = k;
    }
  }

  std::vector<PathLink> links() {
    std::vector<PathLink> found;
    std::int32_t at = last_event();
    double now = trace_.step.value;
    while (at >= 0 && now > rounding_) {
      const Event& e = event(at);
      const double start = std::min(now, e.start.value);
      found.push_back({at, e.stage, Seconds(start), Seconds(now)});
      now = start;
      const std::int32_t before = cause(at);
      const double end = before < 0 ? 0.0 : event(before).end.value;
      if (end < now - rounding_) {  // nothing recorded explains this time
        found.push_back({-1, e.stage, Seconds(end), Seconds(now)});
        now = end;
      }
      at = before;
    }
    if (now > 0 && !found.empty()) found.back().from = Seconds(0);
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  const Event& event(std::int32_t i) const { return trace_.events[static_cast<std::size_t>(i)]; }

  std::int32_t last_event() const {
    std::int32_t last = -1;
    for (std::size_t i = 0; i < trace_.events.size(); ++i)
      if (last < 0 || trace_.events[i].end > event(last).end) last = static_cast<std::int32_t>(i);
    return last;
  }

  // The one that ends later; the first where both do at once.
  std::int32_t later(std::int32_t a, std::int32_t b) const {
    if (a < 0 || b < 0) return a < 0 ? b : a;
    return event(b).end.value > event(a).end.value + rounding_ ? b : a;
  }

  bool over(std::int32_t j, std::int32_t i) const {
    return j >= 0 && j < i && event(j).end.value <= event(i).start.value + rounding_;
  }

  // Messages and reductions that run beside passes hold up only others of their kind.
  bool runs_beside(EventKind kind) const {
    return kind == EventKind::kReduce || (kind == EventKind::kSend && !trace_.blocking_sends);
  }

  // What ended last on the event's own rank before it began.
  std::int32_t own(std::int32_t i) const {
    const Event& e = event(i);
    const auto events = index_.rank(e.stage);
    std::int32_t best = -1;
    bool followed = false;  // of what follows one another the last is enough
    int alike = runs_beside(e.kind) ? 0 : kNear;
    for (std::size_t k = places_[static_cast<std::size_t>(i)]; k-- > 0 && !(followed && alike >= kNear);) {
      const std::int32_t j = events[k];
      const EventKind kind = event(j).kind;
      if (runs_beside(kind) ? kind != e.kind : followed) continue;
      if (runs_beside(kind)) ++alike;
      if (!over(j, i)) continue;
      best = later(best, j);
      followed = followed || !runs_beside(kind);
    }
    return best;
  }

  // The message that a pass (or the receive before it) needs: the later of the sender's pass and its send, as
  // far as it was over when event i began.
  std::int32_t message(std::int32_t pass, std::int32_t i) const {
    const Event& e = event(pass);
    const bool down = index_.down(pass);
    const std::int64_t from = index_.sender(trace_.piece(e), down);
    if (from < 0) return -1;
    std::int32_t best = -1;
    for (const std::int32_t j :
         {index_.pass(from, e.micro_batch, down), index_.send(from, e.micro_batch, down)})
      if (over(j, i)) best = later(best, j);
    return best;
  }

  // The pass during which a reduction began, where one was running.
  std::int32_t around(std::int32_t i) const {
    const auto events = index_.rank(event(i).stage);
    for (std::size_t k = places_[static_cast<std::size_t>(i)]; k-- > 0;) {
      if (!is_pass(event(events[k]).kind)) continue;
      return events[k] < i && !over(events[k], i) ? events[k] : -1;
    }
    return -1;
  }

  // What ended last on any rank; all meet there.
  std::int32_t anywhere(std::int32_t i) const {
    std::int32_t best = -1;
    for (std::int32_t j = 0; j < i; ++j) {
      const EventKind kind = event(j).kind;
      if (kind == EventKind::kSend && !trace_.blocking_sends) continue;
      if (over(j, i)) best = later(best, j);
    }
    return best;
  }

  std::int32_t cause(std::int32_t i) const {
    const Event& e = event(i);
    const auto explains = [&](std::int32_t j) {
      return j >= 0 && event(j).end.value >= e.start.value - rounding_;
    };
    if (e.kind == EventKind::kMeet || e.kind == EventKind::kExchange) return anywhere(i);
    std::int32_t best = own(i);
    if (explains(best)) return best;
    if (e.kind == EventKind::kReduce) {
      const std::int32_t pass = around(i);
      return pass >= 0 ? pass : best;
    }
    if (e.kind == EventKind::kOptimizer || e.kind == EventKind::kGather)
      return later(best, anywhere(i));  // ranks that met, and took no time for it
    const bool needs_message =
        (is_pass(e.kind) && e.kind != EventKind::kWeight) || e.kind == EventKind::kReceive;
    if (!needs_message) return best;
    best = later(best, message(i, i));
    if (explains(best)) return best;
    // The first of a pair (or its receive) waits for the second's message too.
    const auto events = index_.rank(e.stage);
    int passes = e.kind == EventKind::kReceive ? 2 : 1;  // that pass, and the other of the pair
    for (std::size_t k = places_[static_cast<std::size_t>(i)] + 1; k < events.size() && passes > 0; ++k) {
      const EventKind kind = event(events[k]).kind;
      if (!is_pass(kind)) continue;
      --passes;
      if (kind == EventKind::kBackward && index_.down(i)) return later(best, message(events[k], i));
    }
    return best;
  }

  static constexpr int kNear = 4;  // messages to one neighbour overlap those to the other

  const StepTrace& trace_;
  const TraceIndex& index_;
  double rounding_;
  std::vector<std::size_t> places_;
};

}  // namespace

CriticalPath critical_path(const StepTrace& trace, const TraceIndex& index) {
  CriticalPath path;
  path.links = Walk(trace, index).links();
  path.by_rank.resize(static_cast<std::size_t>(trace.pipeline.stages));
  const auto cause = [&](StepCause which) -> Seconds& {
    return path.by_cause[static_cast<std::size_t>(which)];
  };
  for (const PathLink& link : path.links) {
    const Seconds length = link.to - link.from;
    path.by_rank[static_cast<std::size_t>(link.rank)] += length;
    if (link.event < 0) {
      cause(StepCause::kBubble) += length;
      continue;
    }
    const Event& event = trace.events[static_cast<std::size_t>(link.event)];
    if (!is_pass(event.kind)) {
      cause(cause_of(event.kind)) += length;
      continue;
    }
    // A pass's own causes, as much of them as is on the path. The first causes of a step are those of a
    // segment, in the same order.
    const auto& parts = trace.chunks[static_cast<std::size_t>(trace.piece(event))]
                            .by_cause[static_cast<std::size_t>(pass_kind(event.kind))];
    Seconds sum;
    const auto of = [&](std::size_t i) { return std::max(Seconds(0), parts[i]); };  // one rounds below zero
    for (std::size_t i = 0; i < parts.size(); ++i) sum += of(i);
    for (std::size_t i = 0; i < parts.size(); ++i)
      path.by_cause[i] += sum > Seconds(0) ? of(i) * (length / sum) : Seconds(0);
  }
  return path;
}

}  // namespace foretrain
