// The optimizer's step as a pass.
#include <utility>

#include "workload/host_work.h"
#include "workload/workload.h"

namespace foretrain {

UpdateFormat update_format(const Plan& plan, const Stack& stack) {
  UpdateFormat format;
  format.precision = plan.precision;
  format.grad_dtype = accumulation_dtype(plan, stack);
  format.moment_bytes = static_cast<std::int64_t>(bytes_of(stack.states.moments));
  if (plan.optimizer == OptimizerKind::kAdamwBf16) format.moment_bytes = 2;
  if (plan.optimizer == OptimizerKind::kAdamw8bit) format.moment_bytes = 1;
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
    task.op.kind = entry.kind;
    task.op.impl = entry.impl;
    task.op.pass = PassKind::kStep;
    task.op.dtype = format.precision;
    task.op.launches = static_cast<std::int32_t>(entry.launches[0]);
    const std::int64_t touched = entry.kind == OperatorKind::kZeroGrads ? elements : owned;
    task.op.sizes = {touched,
                     tensors,
                     size(format.grad_dtype),
                     size(format.precision),
                     format.moment_bytes,
                     format.master ? 4 : 0};
    task.times = entry.times;
    repeat.tasks.push_back(task);
  }
  return Pass{{std::move(repeat)}};
}

}  // namespace foretrain
