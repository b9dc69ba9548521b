// A collective: what is exchanged, among which group of ranks. Where those ranks sit, and so what it costs,
// is the network's business.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "job/group.h"
#include "spec/collective_kind.h"

namespace foretrain {

struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  GroupKind group = GroupKind::kTensor;
  // The whole tensor: an all-gather's result, a reduce-scatter's operand, one message. Of an exchange of
  // tokens, what a rank would send by a plain all-to-all, its own share included: tokens x top_k x row.
  Bytes bytes;
  bool in_place = false;  // a rank's own share lies where it belongs already: nothing is copied beside
  // Of dispatches and combines (spec/routing.h); 0: every byte goes its own way.
  std::int32_t experts = 0;
  std::int32_t top_k = 0;
  Bytes row;  // of one token; zero: unknown
  std::int32_t groups = 0;
  std::int32_t group_limit = 0;

  bool operator==(const Collective&) const = default;
};

}  // namespace foretrain
