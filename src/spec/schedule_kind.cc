#include "spec/schedule_kind.h"

#include <fmt/format.h>

namespace foretrain {

std::string_view description(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kGpipe:
      return "all forwards, then all backwards; every micro-batch in flight";
    case ScheduleKind::k1f1b:
      return "forwards and backwards in turn; at most pp micro-batches in flight";
    case ScheduleKind::kInterleaved:
      return "1f1b over vpp chunks a rank; bubble divided by vpp";
    case ScheduleKind::kZbH1:
      return "backward split in two; in 1f1b's memory a third of its bubble where F = B = W";
    case ScheduleKind::kZbH2:
      return "backward split in two; no bubble where F = B = W, for up to twice the memory";
    case ScheduleKind::kZbv:
      return "backward split, two chunks a rank in a V; no bubble where F = B = W, in 1f1b's memory";
    case ScheduleKind::kDualpipe:
      return "two copies of the model from both ends; forward and backward paired";
    case ScheduleKind::kDualpipev:
      return "dualpipe cut in half: two chunks a rank in a V, weights held once";
  }
  return "";
}

bool splits_backward(ScheduleKind kind) {
  return kind != ScheduleKind::kGpipe && kind != ScheduleKind::k1f1b && kind != ScheduleKind::kInterleaved;
}

bool lies_in_v(ScheduleKind kind) {
  return kind == ScheduleKind::kZbv || kind == ScheduleKind::kDualpipe || kind == ScheduleKind::kDualpipev;
}

std::int64_t chunks_per_rank(ScheduleKind kind, std::int64_t vpp) {
  if (kind == ScheduleKind::kInterleaved) return vpp;
  return lies_in_v(kind) ? 2 : 1;
}

std::optional<std::string> refusal(ScheduleKind kind, std::int64_t pp, std::int64_t vpp,
                                   std::int64_t micro_batches) {
  const std::string_view word = name(kind);
  if (pp == 1) {
    if (vpp > 1) return fmt::format("vpp {} needs pp > 1", vpp);
    return std::nullopt;
  }
  switch (kind) {
    case ScheduleKind::kInterleaved:
      // Megatron-LM raises an error otherwise, as long as its groups are of pp micro-batches, the default.
      if (vpp > 1 && micro_batches % pp != 0)
        return fmt::format("schedule interleaved needs micro-batches ({}) in a multiple of pp {}",
                           micro_batches, pp);
      return std::nullopt;
    case ScheduleKind::kGpipe:
    case ScheduleKind::k1f1b:
    case ScheduleKind::kZbH1:
    case ScheduleKind::kZbH2:
      if (vpp > 1) return fmt::format("schedule {} has one chunk a rank, but vpp is {}", word, vpp);
      if (kind == ScheduleKind::kZbH2 && micro_batches < 2 * pp - 1)
        return fmt::format("schedule zb-h2 needs 2*pp-1 = {} micro-batches or more, found {}", 2 * pp - 1,
                           micro_batches);
      return std::nullopt;
    case ScheduleKind::kZbv:
    case ScheduleKind::kDualpipev:
      if (vpp > 2) return fmt::format("schedule {} has two chunks a rank, but vpp is {}", word, vpp);
      if (kind == ScheduleKind::kDualpipev && micro_batches < 2 * pp)
        return fmt::format("schedule dualpipev needs 2*pp = {} micro-batches or more, found {}", 2 * pp,
                           micro_batches);
      return std::nullopt;
    case ScheduleKind::kDualpipe:
      if (vpp > 1)
        return fmt::format("schedule dualpipe has one chunk a rank and direction, but vpp is {}", vpp);
      if (pp % 2 != 0) return fmt::format("schedule dualpipe needs an even pp, found {}", pp);
      if (micro_batches % 2 != 0 || micro_batches < 2 * pp)
        return fmt::format(
            "schedule dualpipe needs an even number of micro-batches, 2*pp = {} or more, found {}", 2 * pp,
            micro_batches);
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace foretrain
