// How a block's tokens reach the ranks of their experts and come back (block_writer.h): by one dispatcher of the plan's, whole
// or narrower on the way there, with the ranks that share an expert.
#include <algorithm>
#include <array>
#include <cmath>

#include "workload/block_writer.h"

namespace foretrain {

std::int64_t BlockWriter::routed_rows(std::int64_t tokens) const {
  const double rows =
      static_cast<double>(tokens * block_.feed_forward.top_k * shape_.etp) * shape_.experts.rows +
      padded_rows();
  return std::max<std::int64_t>(1, std::llround(rows));
}

void BlockWriter::add_routed(CollectiveKind forward, CollectiveKind backward, double rows,
                             const std::array<double, 2>& row) {
  Exchange exchange{.group = GroupKind::kExpert,
                    .forward = forward,
                    .bytes = Bytes(rows * row[0]),
                    .experts = static_cast<std::int32_t>(block_.feed_forward.experts),
                    .top_k = static_cast<std::int32_t>(block_.feed_forward.top_k),
                    .row = Bytes(row[0]),
                    .groups = static_cast<std::int32_t>(block_.feed_forward.routing_groups),
                    .group_limit = static_cast<std::int32_t>(block_.feed_forward.group_limit),
                    .hidden = shape_.experts.hidden};
  if (row[0] != row[1]) {  // in two formats: one exchange each way
    add_exchange(exchange);
    exchange.forward.reset();
    exchange.bytes = Bytes(rows * row[1]);
    exchange.row = Bytes(row[1]);
  }
  exchange.backward = backward;
  add_exchange(exchange);
}

void BlockWriter::send_tokens(bool to_experts, bool work_beside) {
  using enum CollectiveKind;
  const ExpertChoices& choices = shape_.experts;
  const auto width = static_cast<double>(model_.hidden), tokens = static_cast<double>(shared_tokens());
  const double row = width * bytes_of(shape_.precision);
  const double rows = tokens * static_cast<double>(block_.feed_forward.top_k) * choices.rows;
  const bool gathers = choices.dispatcher == Dispatcher::kAllGather;
  const double everybody = tokens * static_cast<double>(shape_.ep);
  const auto gather = [&](GroupKind group, double all_rows) {
    add_exchange({.group = group,
                  .forward = to_experts ? kAllGather : kReduceScatter,
                  .backward = to_experts ? kReduceScatter : kAllGather,
                  .bytes = Bytes(all_rows * row),
                  .hidden = choices.hidden});
  };
  // Ranks that share each expert need all rows of one another.
  const auto join_experts = [&] {
    if (shape_.etp > 1)
      gather(GroupKind::kExpertTensor, (gathers ? everybody : rows) * static_cast<double>(shape_.etp));
  };
  // To experts in the narrower format, with an fp32 scale every 128 values; back as the passes are.
  const double narrow = bytes_of(choices.dispatch_dtype) < bytes_of(shape_.precision)
                            ? width * (bytes_of(choices.dispatch_dtype) + 4.0 / 128)
                            : row;
  const auto copy_once = [&](CollectiveKind dispatch, CollectiveKind combine) {
    if (to_experts)
      add_routed(dispatch, combine, rows, {narrow, row});
    else
      add_routed(combine, dispatch, rows, {row, narrow});
  };
  if (!to_experts) join_experts();
  if (shape_.ep > 1) switch (choices.dispatcher) {
      case Dispatcher::kAllGather:
        gather(GroupKind::kExpert, everybody);
        break;
      case Dispatcher::kAllToAll:
        add_routed(kAllToAll, kAllToAll, rows, {row, row});
        break;
      case Dispatcher::kDeepEp:
        copy_once(kDispatch, kCombine);
        break;
      case Dispatcher::kHybridEp:
        copy_once(kHybridDispatch, kHybridCombine);
        break;
    }
  if (to_experts) join_experts();
  beside_ = work_beside && shape_.ep > 1;
}

void BlockWriter::wait_for_counts() {
  if (!shape_.experts.syncs) return;
  BlockItem item;
  item.waits = true;
  item.has_backward = false;
  items_.push_back(item);
}

}  // namespace foretrain
