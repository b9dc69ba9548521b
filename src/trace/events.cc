#include "trace/events.h"

#include <fmt/format.h>

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

}  // namespace foretrain
