// What one pipeline chunk does for one micro-batch in one direction: an ordered list of tasks, equal layers
// written once with a count. Forward (F), backward to inputs (B) and backward to weights (W) are told apart
// task by task: a schedule that splits the backward takes the B tasks and the W tasks as passes of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "workload/task_list.h"

namespace foretrain {

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
  TaskList tasks;
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
