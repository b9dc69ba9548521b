#include "workload/graphs.h"

#include <algorithm>
#include <utility>

#include "operators/pointwise.h"

namespace foretrain {

void add_graph_inputs(std::vector<Task>& tasks, const PassShape& shape, std::int64_t hidden) {
  if (!shape.graphs.copies_inputs) return;
  const std::int64_t tokens = shape.sp ? shape.tokens() / shape.tp : shape.tokens();
  const Bytes buffer(static_cast<double>(tokens * hidden) * bytes_of(shape.precision));
  std::vector<Task> out;
  out.reserve(tasks.size() + 2);
  bool inside = false;
  for (Task& task : tasks) {
    const bool captured = task.capture == Capture::kPart;
    if (captured && !inside) {
      Task copy;
      copy.direction = task.direction;
      copy.op = pointwise(OperatorKind::kCopy, {.tokens = tokens, .width = hidden},
                          {.impl = Impl::kAten, .dtype = shape.precision});
      if (task.direction == Direction::kForward) copy.saved = buffer;
      out.push_back(std::move(copy));
    }
    inside = captured;
    out.push_back(std::move(task));
  }
  tasks = std::move(out);
}

void capture(Pass& pass) {
  for (Repeat& repeat : pass.repeats)
    for (Task& task : repeat.tasks.edit()) task.capture = Capture::kStep;
}

}  // namespace foretrain
