#include "predict/messages.h"

#include <algorithm>
#include <cstdlib>

namespace foretrain {

Messages::Messages(const Setting& setting, const Job& job, const Pipeline& pipeline, const Network& network)
    : pipeline_(pipeline), network_(network) {
  const Stack& stack = setting.stack;
  const std::int64_t tp = job.mesh.tp;
  const bool sp = job.choices.sp;
  const double element = bytes_of(job.choices.precision);
  const double activation = static_cast<double>(job.tokens() * setting.model.hidden) * element;
  const bool scattered = sp || (stack.pipeline.scatter_gather && tp > 1);
  const Bytes message(activation / (scattered ? static_cast<double>(tp) : 1.0));
  const Bytes mask(stack.pipeline.sends_mask ? static_cast<double>(job.seq * job.seq) * element : 0.0);
  if (stack.pipeline.scatter_gather && !sp && tp > 1)
    gather_ = NetworkTime(network.cost({CollectiveKind::kAllGather, GroupKind::kTensor, Bytes(activation)}));
  down_.bytes = message + mask;
  up_.bytes = message;
}

NetworkTime Messages::send(std::int64_t from, std::int64_t to, Sends& known) const {
  const std::int64_t a = pipeline_.rank(from), b = pipeline_.rank(to);
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
