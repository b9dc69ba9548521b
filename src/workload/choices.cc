// What a plan and a stack choose between them.
#include "workload/sharded_units.h"
#include "workload/workload.h"

namespace foretrain {

double dropout_of(const Model& model, const Stack& stack) {
  return has_dropout(stack) ? model.dropout.value_or(stack.default_dropout) : 0.0;
}

Dtype accumulation_dtype(const Plan& plan, const Stack& stack) {
  const bool stays = plan.precision == Dtype::kFp16 && stack.gradients.fp16_stays;
  return plan.grad_dtype.value_or(stays ? plan.precision : stack.gradients.dtype);
}

Dtype reduction_dtype(const Plan& plan, const Stack& stack) {
  const bool stays = plan.precision == Dtype::kFp16 && stack.gradients.fp16_stays;
  return plan.reduce_dtype.value_or(stays ? plan.precision : stack.gradients.reduce_dtype);
}

Choices choices_of(const Model& model, const Plan& plan, const Stack& stack, std::int64_t seq,
                   bool accumulates) {
  Choices c;
  c.tp = plan.tp;
  c.sp = plan.sp && plan.tp > 1;
  c.micro_batch = plan.micro_batch;
  c.seq = seq;
  c.sp_gather_again = c.sp && plan.sp_gather_again.value_or(stack.tensor_parallel.sp_gather_again);
  c.recompute = plan.recompute;
  c.offload = plan.offload;
  if (plan.recompute == Recompute::kFull) c.recompute_layers = plan.recompute_layers;
  c.attention = plan.attention.value_or(stack.default_attention);
  c.precision = plan.precision;
  c.partition_activations = plan.partition_activations.value_or(false) && plan.tp > 1;
  c.dropout = model.dropout.value_or(stack.default_dropout) > 0;
  c.accumulates = accumulates;
  c.grad_dtype = accumulation_dtype(plan, stack);
  c.units = unit_sharding(plan, stack);
  return c;
}

}  // namespace foretrain
