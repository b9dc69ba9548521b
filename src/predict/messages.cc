#include "predict/messages.h"

#include <algorithm>
#include <cstdlib>

namespace foretrain {

Messages::Messages(const Setting& setting, const Plan& plan, const Choices& choices,
                   const Placement& placement, const Network& network)
    : placement_(placement), network_(network) {
  const Stack& stack = setting.stack;
  const double activation =
      static_cast<double>(plan.micro_batch * setting.seq * setting.model.hidden) * bytes_of(plan.precision);
  const bool scattered = choices.sp || (stack.pipeline.scatter_gather && plan.tp > 1);
  const Bytes message(activation / (scattered ? static_cast<double>(plan.tp) : 1.0));
  const Bytes mask(stack.pipeline.sends_mask
                       ? static_cast<double>(setting.seq * setting.seq) * bytes_of(plan.precision)
                       : 0.0);
  if (stack.pipeline.scatter_gather && !choices.sp && plan.tp > 1)
    gather_ = network.cost({CollectiveKind::kAllGather, GroupKind::kTensor, Bytes(activation)}).seconds;
  down_.bytes = message + mask;
  up_.bytes = message;
}

// Of the slowest boundary, for which the others wait.
double Messages::spread() const {
  return network_.cost({CollectiveKind::kSendReceive, GroupKind::kPipeline, up_.bytes}).spread;
}

Seconds Messages::send(std::int64_t from, std::int64_t to, Sends& known) const {
  const std::int64_t a = placement_.rank(from), b = placement_.rank(to);
  if (a == b) return Seconds(0);
  if (std::abs(a - b) != 1) {
    if (!known.round)
      known.round = network_.cost({CollectiveKind::kSendReceive, GroupKind::kEmbedding, known.bytes}).seconds;
    return *known.round + gather_;
  }
  auto& seconds = network_.crosses(std::min(a, b)) ? known.across : known.inside;
  if (!seconds) seconds = network_.send(std::min(a, b), known.bytes).seconds;
  return *seconds + gather_;
}

}  // namespace foretrain
