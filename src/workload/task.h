// One thing that a pass does: an operator, an exchange between ranks, or work of the host.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "operators/operator.h"
#include "spec/stack.h"
#include "workload/collective.h"

namespace foretrain {

// Whether a task is of a CUDA graph: one of a part of a layer, which it shares with the tasks next to it, or the
// one of a whole step. Of a task of the host: it launches that graph.
enum class Capture : unsigned char { kNone, kPart, kStep };

enum class Direction : unsigned char { kForward, kBackward, kWeight };

struct Task {
  enum class Kind : unsigned char { kOperator, kCollective, kHost };

  Kind kind = Kind::kOperator;
  Direction direction = Direction::kForward;
  bool recompute = false;  // a forward that runs again inside a backward
  bool blocking = true;    // compute waits for the collective; the host, after its calls, for the GPU
  // A collective: nothing of its pass waits for it. An operator: it does not wait for the collective before it.
  bool beside = false;
  bool turns =
      false;  // of an operator: the host reads what its kernels make, so that the two never work at once
  // Of the host: it waits for every stream of the GPU (a synchronisation of the device), collectives over data-parallel
  // ranks too; otherwise for what it reads.
  bool device = false;
  Capture capture = Capture::kNone;
  Prefetch prefetch = Prefetch::kNone;  // of a unit's gather: when it may start
  Operator op;
  Collective collective;
  std::int64_t times = 1;      // run so many times in a row
  std::int64_t calls = 0;      // host calls beside it that launch nothing
  Bytes saved;                 // kept from this forward task until its backward
  Bytes lets_go;               // of that, when this backward task is done
  Bytes leaves;                // a gradient that stays
  std::optional<Bytes> extra;  // held on top of what is saved while it runs; absent: what its kind usually is

  bool operator==(const Task&) const = default;
};

}  // namespace foretrain
