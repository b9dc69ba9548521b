#include "workload/task_writer.h"

#include "operators/optimizer.h"
#include "operators/product.h"

namespace foretrain {
namespace {

bool is_linear(const Step& step) {
  return step.kind == Step::Kind::kOperator && step.op.kind == OperatorKind::kLinear;
}

Direction forward_direction(bool recompute) { return recompute ? Direction::kBackward : Direction::kForward; }

}  // namespace

TaskWriter::TaskWriter(const Model& model, const Stack& stack, const PassShape& shape)
    : shape_(shape),
      blocking_(stack.tensor_parallel.blocking),
      gather_again_(shape.sp_gather_again),
      // Under ZeRO 2 and 3 whole gradients live for one backward; only shards are added up.
      fused_accumulation_(stack.gradients.fused_accumulation || shape.units.scatters),
      activation_(static_cast<double>(shape.micro_batch * shape.seq * model.hidden) *
                  bytes_of(shape.precision)) {}

void TaskWriter::forward(const std::vector<Step>& steps, std::size_t begin, std::size_t end, bool recompute) {
  for (std::size_t i = begin; i < end; ++i) {
    const Step& step = steps[i];
    if (step.kind == Step::Kind::kOperator) {
      if (step.launches[0] > 0) add_operator(step, PassKind::kForward, 0, recompute);
    } else if (step.kind == Step::Kind::kEnter) {
      if (shape_.sp) add_collective(CollectiveKind::kAllGather, forward_direction(recompute), recompute);
    } else {
      add_collective(shape_.sp ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                     forward_direction(recompute), recompute);
    }
  }
}

void TaskWriter::backward(const std::vector<Step>& steps, bool selective) {
  for (std::size_t i = steps.size(); i-- > 0;) {
    const Step& step = steps[i];
    if (selective && step.selective && (i + 1 == steps.size() || !steps[i + 1].selective)) {
      std::size_t begin = i;
      while (begin > 0 && steps[begin - 1].selective) --begin;
      forward(steps, begin, i + 1, true);
    }
    switch (step.kind) {
      case Step::Kind::kOperator:
        operator_backward(steps, i);
        break;
      case Step::Kind::kEnter:
        // Written by the product after it, so that the product's W can run beside it.
        if (i + 1 == steps.size() || !is_linear(steps[i + 1])) enter_backward();
        break;
      case Step::Kind::kLeave:
        if (shape_.sp) add_collective(CollectiveKind::kAllGather, Direction::kBackward, false);
        break;
    }
  }
}

void TaskWriter::add_tied_gradients(std::int64_t width, std::int64_t rows) {
  if (!fused_accumulation_) add_accumulate(width, rows, bytes_of(shape_.precision), 1);
}

void TaskWriter::gather_checkpoint() {
  add_collective(CollectiveKind::kAllGather, Direction::kBackward, true);
}

void TaskWriter::add_operator(const Step& step, PassKind pass, std::size_t which, bool recompute) {
  Task task;
  task.op = step.op;
  task.op.pass = pass;
  task.op.launches = static_cast<std::int32_t>(step.launches[which]);
  task.times = step.times;
  task.recompute = recompute;
  task.direction = pass == PassKind::kWeight    ? Direction::kWeight
                   : pass == PassKind::kForward ? forward_direction(recompute)
                                                : Direction::kBackward;
  if (pass == PassKind::kForward && !recompute)
    task.saved = shape_.recompute == Recompute::kSelective ? step.selective_saved : step.saved;
  if (step.extra) task.extra = (*step.extra)[pass == PassKind::kForward ? 0 : 1];
  tasks_.push_back(task);
}

void TaskWriter::add_collective(CollectiveKind kind, Direction direction, bool recompute, bool may_overlap) {
  Task task;
  task.kind = Task::Kind::kCollective;
  task.collective = {kind, GroupKind::kTensor, Bytes(activation_)};
  task.direction = direction;
  task.recompute = recompute;
  task.blocking = blocking_ || !may_overlap;
  tasks_.push_back(task);
}

void TaskWriter::enter_backward() {
  add_collective(shape_.sp ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                 Direction::kBackward, false, true);
}

void TaskWriter::operator_backward(const std::vector<Step>& steps, std::size_t i) {
  const Step& step = steps[i];
  if (!step.has_backward) return;
  const bool entered = i > 0 && steps[i - 1].kind == Step::Kind::kEnter;
  if (!is_linear(step)) {
    add_operator(step, PassKind::kBackward, 1, false);
    return;
  }
  // The input's shard is gathered again for W, beside B.
  if (entered && gather_again_) add_collective(CollectiveKind::kAllGather, Direction::kWeight, false, true);
  if (step.launches[1] > 0) add_operator(step, PassKind::kInput, 1, false);
  if (entered) enter_backward();
  if (step.launches[2] > 0) {
    add_operator(step, PassKind::kWeight, 2, false);
    accumulate(step);
  }
}

// An accumulator in a wider format is always added to; .grad itself only from the second micro-batch on.
void TaskWriter::accumulate(const Step& step) {
  const bool wider = bytes_of(shape_.grad_dtype) > bytes_of(shape_.precision);
  if (fused_accumulation_ || !(wider || shape_.accumulates)) return;
  const auto weight = step.op.as<LinearSizes>();
  add_accumulate(weight.k, weight.n, bytes_of(shape_.grad_dtype), step.times);
}

void TaskWriter::add_accumulate(std::int64_t k, std::int64_t n, double bytes, std::int64_t times) {
  Task task;
  task.direction = Direction::kWeight;
  task.op = foretrain::accumulate({.k = k, .n = n, .grad_bytes = static_cast<std::int64_t>(bytes)},
                                  {.pass = PassKind::kWeight, .dtype = shape_.precision});
  task.times = times;
  tasks_.push_back(task);
}

}  // namespace foretrain
