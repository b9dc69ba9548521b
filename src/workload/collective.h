// A collective: what is exchanged, among which group of ranks. Where those ranks sit, and so what it costs,
// is the network's business.
#pragma once

#include "base/units.h"
#include "job/group.h"
#include "spec/collective_kind.h"

namespace foretrain {

struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  GroupKind group = GroupKind::kTensor;
  Bytes bytes;            // the whole tensor: an all-gather's result, a reduce-scatter's operand, one message
  bool in_place = false;  // a rank's own share lies where it belongs already: nothing is copied beside

  bool operator==(const Collective&) const = default;
};

}  // namespace foretrain
