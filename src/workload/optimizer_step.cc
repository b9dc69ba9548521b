// The optimizer's step as a pass.
#include <algorithm>
#include <utility>

#include "operators/optimizer.h"
#include "workload/host_work.h"
#include "workload/workload.h"

namespace foretrain {

std::int64_t moment_width(OptimizerKind optimizer, const Stack& stack) {
  switch (optimizer) {
    case OptimizerKind::kAdamw:
    case OptimizerKind::kMuon:
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes_of(stack.states.moments)));
    case OptimizerKind::kAdamwBf16:
      return 2;
    case OptimizerKind::kAdamw8bit:
      return 1;
  }
  return 0;
}

UpdateFormat update_format(const Plan& plan, const Stack& stack) {
  UpdateFormat format;
  format.precision = plan.precision;
  format.grad_dtype = accumulation_dtype(plan, stack);
  format.moment_width = moment_width(plan.optimizer, stack);
  format.master = plan.precision != Dtype::kFp32 &&
                  (plan.master_weights.value_or(stack.states.master_weights) || stack.states.fp32_weights);
  return format;
}

Pass build_optimizer(const Stack& stack, const UpdateFormat& format, std::int64_t elements,
                     std::int64_t owned, std::int64_t tensors) {
  const auto size = [](Dtype dtype) { return static_cast<std::int64_t>(bytes_of(dtype)); };
  Repeat repeat;
  if (stack.host.calls_per_step > 0)
    repeat.tasks.push_back(host_task(Direction::kForward, stack.host.calls_per_step, true));
  for (const PartOperator& entry : stack.parts.optimizer) {
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
    repeat.tasks.push_back(task);
  }
  return Pass{{std::move(repeat)}};
}

}  // namespace foretrain
