#include "predict/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace foretrain {

std::int64_t events_of(const Job& job) {
  const Pipeline& pipeline = job.pipeline;
  const std::int64_t passes = splits_backward(pipeline.schedule) ? 3 : 2;
  const std::int64_t messages = pipeline.stages > 1 ? 4 : 0;  // sent and received, both ways
  return job.micro_batches * pipeline.stages * pipeline.chunks_per_stage * (passes + messages);
}

PassKind pass_kind(EventKind kind) {
  CHECK_THAT(is_pass(kind));
  return kind == EventKind::kForward    ? PassKind::kForward
         : kind == EventKind::kBackward ? PassKind::kBackward
         : kind == EventKind::kInput    ? PassKind::kInput
                                        : PassKind::kWeight;
}

StepCause cause_of(EventKind kind) {
  switch (kind) {
    case EventKind::kForward:
      return StepCause::kForward;
    case EventKind::kBackward:
    case EventKind::kInput:
    case EventKind::kWeight:
      return StepCause::kBackward;
    case EventKind::kSend:
    case EventKind::kReceive:
      return StepCause::kPipelineSend;
    case EventKind::kReduce:
      return StepCause::kGradientReduce;
    case EventKind::kExchange:
      return StepCause::kEmbeddingExchange;
    case EventKind::kMeet:
      return StepCause::kStageWait;
    case EventKind::kOptimizer:
      return StepCause::kOptimizer;
    case EventKind::kGather:
      return StepCause::kParameterGather;
  }
  CHECK_THAT(false);
  return StepCause::kBubble;
}

std::string_view name(EventKind kind) {
  switch (kind) {
    case EventKind::kForward:
      return "forward";
    case EventKind::kBackward:
      return "backward";
    case EventKind::kInput:
      return "backward to inputs";
    case EventKind::kWeight:
      return "backward to weights";
    case EventKind::kSend:
      return "send";
    case EventKind::kReceive:
      return "receive";
    case EventKind::kReduce:
      return "gradient reduce";
    case EventKind::kExchange:
      return "embedding exchange";
    case EventKind::kMeet:
      return "gradient norm";
    case EventKind::kOptimizer:
      return "optimizer";
    case EventKind::kGather:
      return "parameter gather";
  }
  CHECK_THAT(false);
  return "";
}

std::string label(const Event& event) {
  if (!is_pass(event.kind)) return std::string(name(event.kind));
  const char letter = event.kind == EventKind::kForward ? 'F' : event.kind == EventKind::kWeight ? 'W' : 'B';
  std::string out = fmt::format("{}{}", letter, event.micro_batch);
  if (event.chunk > 0) out += fmt::format(".{}", event.chunk);
  return out;
}

TraceIndex::TraceIndex(const StepTrace& trace)
    : placement_(trace.placement),
      micro_batches_(trace.micro_batches),
      entries_(static_cast<std::size_t>(2 * trace.micro_batches * trace.placement.nodes())),
      down_(trace.events.size(), false),
      ranks_(static_cast<std::size_t>(trace.placement.ranks)) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    ranks_[static_cast<std::size_t>(event.stage)].push_back(static_cast<std::int32_t>(i));
    const bool passes = is_pass(event.kind) && event.kind != EventKind::kWeight;
    if (!passes && !is_message(event.kind)) continue;
    const auto at = static_cast<std::size_t>((trace.node(event) * micro_batches_ + event.micro_batch) * 2);
    Entry& downward = entries_[at];
    Entry& upward = entries_[at + 1];
    // A send follows its pass, a receive comes before it: a micro-batch goes down, then up.
    const bool down = passes                              ? event.kind == EventKind::kForward
                      : event.kind == EventKind::kReceive ? downward.pass < 0
                                                          : upward.pass < 0;
    down_[i] = down;
    Entry& entry = down ? downward : upward;
    if (passes) entry.pass = static_cast<std::int32_t>(i);
    if (event.kind == EventKind::kSend) entry.send = static_cast<std::int32_t>(i);
  }
  for (auto& events : ranks_)
    std::stable_sort(events.begin(), events.end(), [&](std::int32_t a, std::int32_t b) {
      return trace.events[static_cast<std::size_t>(a)].start <
             trace.events[static_cast<std::size_t>(b)].start;
    });
}

std::int64_t TraceIndex::sender(std::int64_t node, bool down) const {
  if (down) return placement_.first(node) ? -1 : node - 1;
  return placement_.last(node) ? -1 : node + 1;
}

std::int64_t TraceIndex::receiver(std::int64_t node, bool down) const {
  if (down) return placement_.last(node) ? -1 : node + 1;
  return placement_.first(node) ? -1 : node - 1;
}

}  // namespace foretrain
