// What one pipeline chunk does for one micro-batch in one direction: an ordered list of tasks, equal layers
// written once with a count. Forward (F), backward to inputs (B) and backward to weights (W) are told apart
// task by task: a schedule that splits the backward takes the B tasks and the W tasks as passes of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

// A collective over data-parallel ranks, which has a stream of its own. A gather stands first in its Repeat,
// whose tasks (a unit: a block, or an end of the model) need the weights; what follows the work is a scatter
// of the unit's gradients.
bool on_data_stream(const Task& task);
inline bool is_gather(const Task& task) {
  return on_data_stream(task) && task.collective.kind == CollectiveKind::kAllGather;
}

// Of a backward: what each time lets go (its forward's saved tensors), makes again and holds while it lasts,
// and leaves behind (autograd's own gradients, where they live until the backward ends; gradients that are
// made by the only backward of a step).
struct Repeat {
  std::int64_t count = 1;
  bool is_layer = false;
  std::vector<Task> tasks;
  Bytes releases;
  Bytes recomputes;
  Bytes leaves;
  Bytes gradients;

  bool operator==(const Repeat&) const = default;
};

struct Pass {
  std::vector<Repeat> repeats;

  bool operator==(const Pass&) const = default;
};

// The tasks of one direction alone.
Pass only(const Pass& pass, Direction direction);

Flops flops(const Pass& pass);  // recomputation included
Bytes saved_bytes(const Pass& pass);
Bytes saved_bytes(const Repeat& repeat);  // once
std::int64_t launches(const Pass& pass);

}  // namespace foretrain
