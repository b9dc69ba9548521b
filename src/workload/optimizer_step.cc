#include "workload/optimizer_step.h"

#include <utility>

#include "operators/optimizer.h"
#include "workload/host_work.h"

namespace foretrain {

UpdateFormat update_format(const Job& job) {
  const Choices& choices = job.choices;
  return {.precision = choices.precision,
          .grad_dtype = choices.grad_dtype,
          .moment_width = choices.moment_width,
          .master = choices.updates_fp32,
          .by_cpu = choices.offload_optimizer,
          .loaded = choices.graphs.step ? job.micro_batches : 0,
          .captured = choices.graphs.optimizer};
}

Pass build_optimizer(const Stack& stack, const UpdateFormat& format, std::int64_t elements,
                     std::int64_t owned, std::int64_t tensors) {
  const auto size = [](Dtype dtype) { return static_cast<std::int64_t>(bytes_of(dtype)); };
  Repeat repeat;
  if (stack.host.calls_per_step > 0)
    repeat.tasks.push_back(host_task(Direction::kForward, stack.host.calls_per_step, true));
  if (format.loaded > 0) {
    const std::int64_t each = stack.host.calls_per_batch + stack.host.copies_per_batch;
    repeat.tasks.push_back(host_task(Direction::kForward, each * format.loaded, false));
    repeat.tasks.back().capture = Capture::kStep;
  }
  const auto is_update = [](OperatorKind kind) {
    return kind == OperatorKind::kAdamw || kind == OperatorKind::kCastGrads ||
           kind == OperatorKind::kCastWeights;
  };
  for (const PartOperator& entry : stack.parts.optimizer) {
    if (format.by_cpu && is_update(entry.kind)) continue;
    Task task;
    const StateSizes sizes = {
        .parameters = entry.kind == OperatorKind::kZeroGrads ? elements : owned,
        .tensors = tensors,
        .widths = {.grad = size(format.grad_dtype),
                   .weight = size(format.precision),
                   .moment = format.moment_width,
                   .master = format.master ? 4 : 0},
    };
    task.op = optimizer(entry.kind, sizes,
                        {.impl = entry.impl,
                         .pass = PassKind::kStep,
                         .dtype = format.precision,
                         .launches = static_cast<std::int32_t>(entry.launches[0])});
    task.times = entry.times;
    if (format.captured) task.capture = Capture::kStep;
    repeat.tasks.push_back(task);
  }
  return Pass{{std::move(repeat)}};
}

}  // namespace foretrain
