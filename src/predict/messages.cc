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
    gather_ = NetworkTime(network.cost({CollectiveKind::kAllGather, GroupKind::kTensor, Bytes(activation)}));
  down_.bytes = message + mask;
  up_.bytes = message;
}

NetworkTime Messages::send(std::int64_t from, std::int64_t to, Sends& known) const {
  const std::int64_t a = placement_.rank(from), b = placement_.rank(to);
  if (a == b) return {};
  const std::int64_t boundary = std::min(a, b);
  const bool round = std::abs(a - b) != 1;
  auto& message = round ? known.round : network_.crosses(boundary) ? known.across : known.inside;
  if (!message) {
    message =
        NetworkTime(round ? network_.cost({CollectiveKind::kSendReceive, GroupKind::kEmbedding, known.bytes})
                          : network_.send(boundary, known.bytes));
    *message += gather_;
  }
  return *message;
}

}  // namespace foretrain
