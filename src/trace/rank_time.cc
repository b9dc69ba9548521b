#include "trace/rank_time.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {
namespace {

constexpr double kRounding = 1e-9;  // of the step

// Whether an event may run beside passes of its rank.
bool runs_beside(const StepTrace& trace, EventKind kind) {
  return kind == EventKind::kReduce || kind == EventKind::kGather ||
         (kind == EventKind::kSend && !trace.blocking_sends);
}

Wait wait_before(EventKind next) {
  switch (next) {
    case EventKind::kForward:
      return Wait::kActivation;
    case EventKind::kBackward:
    case EventKind::kInput:
    case EventKind::kWeight:
      return Wait::kGradient;
    default:
      return Wait::kStages;
  }
}

class SpanMaker {
 public:
  SpanMaker(const StepTrace& trace, const TraceIndex& index) : trace_(trace), index_(index) {}

  std::vector<Span> make(std::int64_t rank) {
    for (const std::int32_t i : index_.rank(rank))
      (runs_beside(trace_, event(i).kind) ? beside_ : main_).push_back(i);
    for (const std::int32_t i : main_) {
      fill(event(i).start, i);
      put(Wait::kNone, i, event(i).end);
    }
    fill(trace_.step, -1);
    return std::move(spans_);
  }

 private:
  const Event& event(std::int32_t i) const { return trace_.events[static_cast<std::size_t>(i)]; }

  void put(Wait wait, std::int32_t i, Seconds end) {
    if (!((end - now_).value > kRounding * trace_.step.value)) return;
    spans_.push_back({wait, i, now_, end});
    now_ = end;
  }

  // Until `end`, when `next` begins. A rank that has passes left waits for these, whatever runs beside; one
  // that has none waits for its reductions.
  void fill(Seconds end, std::int32_t next) {
    const Wait wait = next < 0 ? Wait::kStages : wait_of(next);
    for (; wait == Wait::kStages && next_beside_ < beside_.size(); ++next_beside_) {
      const std::int32_t i = beside_[next_beside_];
      if (event(i).start >= end) break;
      if (event(i).kind == EventKind::kSend) continue;  // nobody waits for it but the rank that it goes to
      put(wait, next, event(i).start);
      put(Wait::kNone, i, std::min(end, event(i).end));
      if (event(i).end > end) break;  // goes on beside what comes next
    }
    put(wait, next, end);
  }

  Wait wait_of(std::int32_t next) const {
    const Event& e = event(next);
    if (!is_message(e.kind)) return wait_before(e.kind);
    return index_.down(next) ? Wait::kActivation : Wait::kGradient;
  }

  const StepTrace& trace_;
  const TraceIndex& index_;
  std::vector<std::int32_t> main_, beside_;
  std::size_t next_beside_ = 0;
  Seconds now_;
  std::vector<Span> spans_;
};

}  // namespace

std::vector<Span> spans_of(const StepTrace& trace, const TraceIndex& index, std::int64_t rank) {
  return SpanMaker(trace, index).make(rank);
}

RankTime rank_time(const StepTrace& trace, const std::vector<Span>& spans) {
  RankTime sum;
  for (const Span& span : spans) {
    const auto part = [&]() -> Seconds& {
      switch (span.wait) {
        case Wait::kActivation:
          return sum.wait_activation;
        case Wait::kGradient:
          return sum.wait_gradient;
        case Wait::kStages:
          return sum.wait_stages;
        case Wait::kNone:
          break;
      }
      const EventKind kind = trace.events[static_cast<std::size_t>(span.event)].kind;
      if (is_pass(kind)) return sum.passes;
      switch (cause_of(kind)) {
        case StepCause::kPipelineSend:
          return sum.messages;
        case StepCause::kGradientReduce:
          return sum.reduce;
        case StepCause::kEmbeddingExchange:
          return sum.exchange;
        case StepCause::kOptimizer:
          return sum.optimizer;
        case StepCause::kParameterGather:
          return sum.gather;
        default:
          return sum.wait_stages;
      }
    };
    part() += span.length();
  }
  return sum;
}

std::string_view name(Wait wait) {
  switch (wait) {
    case Wait::kNone:
      return "";
    case Wait::kActivation:
      return "wait for activation";
    case Wait::kGradient:
      return "wait for gradient";
    case Wait::kStages:
      return "wait for stages";
  }
  CHECK_THAT(false);
  return "";
}

double bubble_fraction(const Prediction& prediction) {
  Seconds busy, longest;
  for (const StagePrediction& stage : prediction.stages) {
    busy += stage.busy;
    longest = std::max(longest, stage.busy + stage.idle);
  }
  const double all = longest.value * static_cast<double>(prediction.stages.size());
  return all > 0 ? std::max(0.0, 1 - busy.value / all) : 0;
}

}  // namespace foretrain
