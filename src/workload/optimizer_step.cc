#include "workload/optimizer_step.h"

#include <algorithm>
#include <utility>

#include "operators/optimizer.h"
#include "operators/pointwise.h"
#include "operators/quantise.h"
#include "workload/host_work.h"

namespace foretrain {

UpdateFormat update_format(const Job& job, const Stack& stack) {
  const Choices& choices = job.choices;
  const bool copied =
      choices.sharding.gathers_by_step && stack.data_parallel.shard_exchange == ShardExchange::kTensorAndRank;
  return {.precision = choices.precision,
          .grad_dtype = choices.grad_dtype,
          .moment_width = choices.moment_width,
          .master = choices.updates_fp32,
          .by_cpu = choices.offload_optimizer,
          .loaded = choices.graphs.step ? job.micro_batches : 0,
          .captured = choices.graphs.optimizer,
          .copied_shards = copied ? choices.sharding.shards[WeightClass::kCommon] : 0,
          .low = choices.low};
}

Impl transpose_impl(const Stack& stack) {
  return stack.low_precision.impl == Impl::kAten ? Impl::kAten : Impl::kEager;
}

namespace {

// Of so many elements; how they lie changes nothing.
TokenSizes sizes_of(std::int64_t elements) {
  constexpr std::int64_t kWidth = 4096;
  return {.tokens = std::max<std::int64_t>(1, elements / kWidth), .width = kWidth};
}

// Copies that passes take are made again of the new weights (Transformer Engine: in the first micro-batch). Weights
// that are kept in fewer bits are cast by who updates them; gathered so, the other copy is made of the first.
void add_weight_casts(const Stack& stack, const UpdateFormat& format, const NarrowMatrices& matrices,
                      std::int64_t tensors, Repeat& repeat) {
  const LowPrecision& low = format.low;
  const Impl impl = stack.low_precision.impl;
  const auto add = [&](Operator op) {
    op.launches = static_cast<std::int32_t>(std::max<std::int64_t>(1, tensors));
    Task task;
    task.op = op;
    if (format.captured) task.capture = Capture::kStep;
    repeat.tasks.push_back(task);
  };
  const auto scan = [&](std::int64_t elements) {
    if (low.formats.scaling == Scaling::kCurrent)
      add(amax(sizes_of(elements), {.impl = impl, .dtype = format.precision}));
  };
  const auto cast = [&](std::int64_t elements, std::int64_t copies) {
    const TokenSizes sizes = sizes_of(elements);
    scan(elements);
    add(quantise({.tokens = sizes.tokens, .width = sizes.width, .copies = copies},
                 {.impl = impl, .dtype = low.formats.forward}));
  };
  const bool by_owner = low.formats.params && low.formats.params_travel_narrow;
  if (!by_owner) {
    if (low.keeps_weights || low.formats.params) cast(matrices.elements, low.weight_copies());
    return;
  }
  cast(matrices.owned, 1);
  if (low.keeps_weights && low.weight_copies() == 2)
    add(transpose(sizes_of(matrices.elements),
                  {.impl = transpose_impl(stack), .dtype = low.formats.forward}));
}

// Weights that were gathered rank by rank are copied to where they belong, each tensor's share of each rank by itself.
Task shard_copies(const Stack& stack, const UpdateFormat& format, std::int64_t elements,
                  std::int64_t tensors) {
  const std::int64_t pieces = std::max<std::int64_t>(1, tensors) * format.copied_shards;
  Task task;
  task.op =
      pointwise(OperatorKind::kCopy, {.tokens = 1, .width = std::max<std::int64_t>(1, elements / pieces)},
                {.impl = Impl::kEager, .dtype = format.precision});
  task.times = pieces;
  task.calls = pieces * stack.host.calls_per_shard;
  return task;
}

}  // namespace

Pass build_optimizer(const Stack& stack, const UpdateFormat& format, std::int64_t elements,
                     std::int64_t owned, std::int64_t tensors, const NarrowMatrices& matrices,
                     const MatrixKinds& iterated) {
  const auto size = [](Dtype dtype) { return static_cast<std::int64_t>(bytes_of(dtype)); };
  Repeat repeat;
  if (stack.host.calls_per_step > 0)
    repeat.tasks.push_back(host_task(Direction::kForward, stack.host.calls_per_step, true));
  if (format.loaded > 0) {
    const std::int64_t each = stack.host.calls_per_batch + stack.host.copies_per_batch;
    repeat.tasks.push_back(host_task(Direction::kForward, each * format.loaded, false));
    repeat.tasks.edit().back().capture = Capture::kStep;
  }
  const auto is_update = [](OperatorKind kind) {
    return kind == OperatorKind::kAdamw || kind == OperatorKind::kCastGrads ||
           kind == OperatorKind::kCastWeights;
  };
  for (const PartOperator& entry : stack.parts.optimizer) {
    if (elements == 0 || (format.by_cpu && is_update(entry.kind))) continue;
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
  if (!format.by_cpu) add_newton_schulz(iterated, repeat);
  if (format.low.is_narrow() && matrices.elements > 0)
    add_weight_casts(stack, format, matrices, tensors, repeat);
  if (format.copied_shards > 1) repeat.tasks.push_back(shard_copies(stack, format, elements, tensors));
  return Pass{{std::move(repeat)}};
}

}  // namespace foretrain
