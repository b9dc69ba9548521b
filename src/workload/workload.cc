#include "workload/workload.h"

#include <algorithm>

#include "base/check.h"
#include "workload/block.h"
#include "workload/units.h"

namespace foretrain {
namespace {

// Turns the steps of a block into the tasks of its passes.
class TaskWriter {
 public:
  TaskWriter(const Model& model, const Stack& stack, const Choices& choices)
      : choices_(choices),
        blocking_(stack.tp_blocking),
        gather_again_(choices.sp_gather_again),
        // Under ZeRO 2 and 3 whole gradients live for one backward; only shards are added up.
        fused_accumulation_(stack.fused_accumulation || choices.units.scatters),
        activation_(static_cast<double>(choices.micro_batch * choices.seq * model.hidden) *
                    bytes_of(choices.precision)) {}

  void forward(const std::vector<Step>& steps, std::size_t begin, std::size_t end, bool recompute) {
    for (std::size_t i = begin; i < end; ++i) {
      const Step& step = steps[i];
      if (step.kind == Step::Kind::kOperator) {
        if (step.launches[0] > 0) add_operator(step, PassKind::kForward, 0, recompute);
      } else if (step.kind == Step::Kind::kEnter) {
        if (choices_.sp) add_collective(CollectiveKind::kAllGather, forward_direction(recompute), recompute);
      } else {
        add_collective(choices_.sp ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                       forward_direction(recompute), recompute);
      }
    }
  }

  void backward(const std::vector<Step>& steps, bool selective) {
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
          if (choices_.sp) add_collective(CollectiveKind::kAllGather, Direction::kBackward, false);
          break;
      }
    }
  }

  // Both uses of a tied table on one rank leave a gradient; autograd adds them up.
  void add_tied_gradients(std::int64_t width, std::int64_t rows) {
    if (!fused_accumulation_) add_accumulate(width, rows, bytes_of(choices_.precision), 1);
  }

  void gather_checkpoint() { add_collective(CollectiveKind::kAllGather, Direction::kBackward, true); }

  std::vector<Task> take() { return std::move(tasks_); }

 private:
  static bool is_linear(const Step& step) {
    return step.kind == Step::Kind::kOperator && step.op.kind == OperatorKind::kLinear;
  }
  static Direction forward_direction(bool recompute) {
    return recompute ? Direction::kBackward : Direction::kForward;
  }

  void add_operator(const Step& step, PassKind pass, std::size_t which, bool recompute) {
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
      task.saved = choices_.recompute == Recompute::kSelective ? step.selective_saved : step.saved;
    if (step.extra) task.extra = (*step.extra)[pass == PassKind::kForward ? 0 : 1];
    tasks_.push_back(task);
  }

  void add_collective(CollectiveKind kind, Direction direction, bool recompute, bool may_overlap = false) {
    Task task;
    task.kind = Task::Kind::kCollective;
    task.collective = {kind, GroupKind::kTensor, Bytes(activation_)};
    task.direction = direction;
    task.recompute = recompute;
    task.blocking = blocking_ || !may_overlap;
    tasks_.push_back(task);
  }

  void enter_backward() {
    add_collective(choices_.sp ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                   Direction::kBackward, false, true);
  }

  void operator_backward(const std::vector<Step>& steps, std::size_t i) {
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
  void accumulate(const Step& step) {
    const bool wider = bytes_of(choices_.grad_dtype) > bytes_of(choices_.precision);
    if (fused_accumulation_ || !(wider || choices_.accumulates)) return;
    add_accumulate(step.op.sizes[1], step.op.sizes[2], bytes_of(choices_.grad_dtype), step.times);
  }

  void add_accumulate(std::int64_t k, std::int64_t n, double bytes, std::int64_t times) {
    Task task;
    task.direction = Direction::kWeight;
    task.op.kind = OperatorKind::kAccumulate;
    task.op.pass = PassKind::kWeight;
    task.op.dtype = choices_.precision;
    task.op.sizes = {k, n, static_cast<std::int64_t>(bytes)};
    task.times = times;
    tasks_.push_back(task);
  }

  const Choices& choices_;
  bool blocking_;
  bool gather_again_;
  bool fused_accumulation_;
  double activation_;
  std::vector<Task> tasks_;
};

// Vocabulary-parallel cross-entropy reduces the row maximum, the target's logit and the sum of exponentials:
// three fp32 numbers a token (Shoeybi et al. 2019, section 3).
void add_loss_exchange(const Choices& choices, std::vector<Task>& tasks) {
  if (choices.tp == 1) return;
  for (int i = 0; i < 3; ++i) {
    Task task;
    task.kind = Task::Kind::kCollective;
    task.collective = {CollectiveKind::kAllReduce, GroupKind::kTensor,
                       Bytes(4.0 * static_cast<double>(choices.micro_batch * choices.seq))};
    tasks.push_back(task);
  }
}

// A product that is fed a shard gathered for it keeps the shard; several products with one input keep it
// once.
Bytes held_for_weight(const std::vector<Step>& steps, const Choices& choices) {
  double sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.kind != Step::Kind::kOperator || step.op.kind != OperatorKind::kLinear || !step.has_backward ||
        step.launches[2] == 0)
      continue;
    const auto size = [&](std::size_t k) { return static_cast<double>(step.op.sizes[k]); };
    const bool gathered = i > 0 && steps[i - 1].kind == Step::Kind::kEnter && choices.sp_gather_again;
    const double input = size(0) * size(1) / (gathered ? static_cast<double>(choices.tp) : 1.0);
    sum += bytes_of(step.op.dtype) * (input + size(0) * size(2) * static_cast<double>(step.times));
  }
  return Bytes(sum);
}

// What selective recomputation does not keep: all of it is there again while a layer's backward runs.
Bytes dropped_by_selective(const std::vector<Step>& steps) {
  Bytes sum;
  for (const Step& step : steps) sum += std::max(Bytes(0), step.saved - step.selective_saved);
  return sum;
}

Bytes saved_by(const std::vector<Step>& steps) {
  Bytes sum;
  for (const Step& step : steps) sum += step.saved;
  return sum;
}

// How many of a block's steps full recomputation runs again. A product keeps its input before it runs, any
// other operator what it has made.
std::size_t recomputed_steps(const std::vector<Step>& steps, const Stack& stack) {
  std::size_t end = steps.size();
  if (!stack.recompute_stops_early) return end;
  while (end > 0 && steps[end - 1].saved == Bytes(0)) --end;
  if (end == 0) return 0;
  const Step& last = steps[end - 1];
  return last.kind == Step::Kind::kOperator && last.op.kind == OperatorKind::kLinear ? end - 1 : end;
}

// Spreads host calls evenly over the tasks of a layer, those that are run again or the others.
void add_calls(std::vector<Task>& tasks, std::int64_t calls, bool recompute) {
  const auto counts = [&](const Task& task) { return task.recompute == recompute; };
  const std::int64_t n = std::count_if(tasks.begin(), tasks.end(), counts);
  std::int64_t i = 0;
  for (Task& task : tasks) {
    if (!counts(task)) continue;
    task.calls += (i + 1) * calls / n - i * calls / n;
    ++i;
  }
}

Task host_task(Direction direction, std::int64_t calls, bool waits) {
  Task task;
  task.kind = Task::Kind::kHost;
  task.direction = direction;
  task.blocking = waits;
  task.calls = calls;
  return task;
}

// Points at which the host waits for the GPU, evenly among those tasks, the last of them after the last task.
void spread_syncs(std::vector<Task>& tasks, std::int64_t syncs, bool recompute) {
  const auto counts = [&](const Task& task) {
    return task.kind != Task::Kind::kHost && task.recompute == recompute;
  };
  if (syncs == 0) return;
  const std::int64_t n = std::count_if(tasks.begin(), tasks.end(), counts);
  std::vector<Task> out;
  std::int64_t i = 0;
  for (const Task& task : tasks) {
    out.push_back(task);
    if (!counts(task)) continue;
    Task sync = host_task(task.direction, 0, true);
    sync.recompute = recompute;
    for (std::int64_t k = (i + 1) * syncs / n - i * syncs / n; k > 0; --k) out.push_back(sync);
    ++i;
  }
  tasks = std::move(out);
}

// What the host does around the passes of a chunk. A backward may be cut into B and W, each of which ends
// with a wait where the whole does.
void add_host_work(const Stack& stack, const Chunk& chunk, ChunkWork& work) {
  Repeat forward, backward;
  if (stack.calls_per_pass[0] > 0)
    forward.tasks.push_back(host_task(Direction::kForward, stack.calls_per_pass[0], false));
  if (chunk.first || chunk.last) {
    if (stack.calls_per_batch > 0)
      forward.tasks.push_back(host_task(Direction::kForward, stack.calls_per_batch, false));
    for (std::int64_t i = 0; i < stack.copies_per_batch; ++i)
      forward.tasks.push_back(host_task(Direction::kForward, 1, true));
  }
  if (stack.calls_per_pass[1] > 0)
    backward.tasks.push_back(host_task(Direction::kBackward, stack.calls_per_pass[1], false));
  const auto put_before = [](Repeat& repeat, Pass& pass) {
    if (!repeat.tasks.empty()) pass.repeats.insert(pass.repeats.begin(), std::move(repeat));
  };
  put_before(forward, work.forward);
  put_before(backward, work.backward);
  if (!stack.sync_after_pass) return;
  work.forward.repeats.push_back({1, false, {host_task(Direction::kForward, 0, true)}});
  work.backward.repeats.push_back(
      {1, false, {host_task(Direction::kBackward, 0, true), host_task(Direction::kWeight, 0, true)}});
}

// Under recomputation a forward keeps less than its steps say: put what it keeps on the first task.
void set_saved(std::vector<Task>& tasks, Bytes kept) {
  for (Task& task : tasks) task.saved = Bytes(0);
  if (!tasks.empty()) tasks.front().saved = kept;
}

}  // namespace

double dropout_of(const Model& model, const Stack& stack) {
  return has_dropout(stack) ? model.dropout.value_or(stack.default_dropout) : 0.0;
}

Dtype accumulation_dtype(const Plan& plan, const Stack& stack) {
  const bool stays = plan.precision == Dtype::kFp16 && stack.fp16_gradients;
  return plan.grad_dtype.value_or(stays ? plan.precision : stack.grad_dtype);
}

Dtype reduction_dtype(const Plan& plan, const Stack& stack) {
  const bool stays = plan.precision == Dtype::kFp16 && stack.fp16_gradients;
  return plan.reduce_dtype.value_or(stays ? plan.precision : stack.reduce_dtype);
}

Choices choices_of(const Model& model, const Plan& plan, const Stack& stack, std::int64_t seq,
                   bool accumulates) {
  Choices c;
  c.tp = plan.tp;
  c.sp = plan.sp && plan.tp > 1;
  c.micro_batch = plan.micro_batch;
  c.seq = seq;
  c.sp_gather_again = c.sp && plan.sp_gather_again.value_or(stack.sp_gather_again);
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

namespace {

// The passes of one chunk while they are put together.
class ChunkWriter {
 public:
  ChunkWriter(const Model& model, const Stack& stack, const Choices& choices)
      : model_(model), stack_(stack), choices_(choices), units_(model, stack, choices, work_) {}

  ChunkWork write(const Chunk& chunk) {
    last_ = chunk.last;
    // Tied ends on one rank are one unit, the embedding's.
    const bool both = chunk.first && chunk.last, joined = both && model_.tied;
    if (chunk.first)
      end(embedding_steps(model_, stack_, choices_), false, units_.elements({0, true, joined}, both));
    if (chunk.layers > 0) {
      const std::int64_t elements = units_.elements({1, false, false}, both);
      const bool full = choices_.recompute == Recompute::kFull;
      const std::int64_t some = choices_.recompute_layers;
      const std::int64_t again = !full ? 0 : some > 0 ? std::min(some, chunk.layers) : chunk.layers;
      if (again > 0) layers(again, true, elements);
      if (again < chunk.layers) layers(chunk.layers - again, false, elements);
      units_.hold_blocks(elements, chunk.layers);
    }
    if (chunk.last)
      end(head_steps(model_, stack_, choices_), true, joined ? 0 : units_.elements({0, false, true}, both));
    while (!backwards_.empty()) {
      if (!backwards_.back().tasks.empty()) work_.backward.repeats.push_back(std::move(backwards_.back()));
      backwards_.pop_back();
    }
    if (choices_.sp) work_.shared_buffers = activation() * static_cast<double>(stack_.sp_buffers);
    add_host_work(stack_, chunk, work_);
    return std::move(work_);
  }

 private:
  Bytes activation() const {
    return Bytes(static_cast<double>(choices_.micro_batch * choices_.seq * model_.hidden) *
                 bytes_of(choices_.precision));
  }

  void end(const std::vector<Step>& steps, bool is_head, std::int64_t elements) {
    TaskWriter forward(model_, stack_, choices_);
    forward.forward(steps, 0, steps.size(), false);
    Repeat f{1, false, forward.take(), {}, {}, {}};
    if (is_head) add_loss_exchange(choices_, f.tasks);
    TaskWriter backward(model_, stack_, choices_);
    backward.backward(steps, false);
    if (!is_head && last_ && model_.tied)
      backward.add_tied_gradients(model_.hidden, padded_vocab(model_, stack_, choices_.tp) / choices_.tp);
    work_.held_for_weight += held_for_weight(steps, choices_);
    add(std::move(f), Repeat{1, false, backward.take(), {}, {}, {}}, elements, false);
  }

  // A row of equal layers, all of them run again in the backward (`full`) or none.
  void layers(std::int64_t count, bool full, std::int64_t elements) {
    const std::vector<Step> steps = block_steps(model_, stack_, choices_, model_.blocks.front().block);
    const bool selective = choices_.recompute == Recompute::kSelective;
    TaskWriter forward(model_, stack_, choices_);
    forward.forward(steps, 0, steps.size(), false);
    Repeat f{count, true, forward.take(), {}, {}, {}};
    add_calls(f.tasks, stack_.calls_per_layer[0] + choices_.calls_beside_messages, false);
    spread_syncs(f.tasks, stack_.syncs_per_layer, false);
    const bool divided = choices_.sp || choices_.partition_activations;
    if (full) set_saved(f.tasks, activation() / (divided ? static_cast<double>(choices_.tp) : 1.0));
    work_.held_for_weight += held_for_weight(steps, choices_) * static_cast<double>(count);
    if (choices_.offload) {
      const Bytes each = saved_bytes(f);
      work_.offloaded += each * static_cast<double>(count);
      work_.offload_window =
          std::max(work_.offload_window, each * static_cast<double>(std::min<std::int64_t>(count, 2)));
      set_saved(f.tasks, Bytes(0));
    }

    TaskWriter backward(model_, stack_, choices_);
    if (full) {
      if (choices_.partition_activations) backward.gather_checkpoint();
      backward.forward(steps, 0, recomputed_steps(steps, stack_), true);
    }
    backward.backward(steps, selective);
    Repeat b{count, true, backward.take(), {}, {}, {}};
    add_calls(b.tasks, stack_.calls_per_layer[1] + choices_.calls_beside_messages, false);
    if (full) {
      add_calls(b.tasks,
                stack_.calls_per_layer[0] + stack_.calls_per_recompute + choices_.calls_beside_messages,
                true);
      spread_syncs(b.tasks, stack_.syncs_per_layer, true);
    }
    spread_syncs(b.tasks, stack_.syncs_per_layer, false);
    if (full) b.recomputes = saved_by(steps);
    if (selective) b.recomputes = dropped_by_selective(steps);
    add(std::move(f), std::move(b), elements, true);
  }

  void add(Repeat forward, Repeat backward, std::int64_t elements, bool is_block) {
    units_.unit(forward, backward, elements, is_block);
    backward.releases = saved_bytes(forward);
    if (stack_.autograd_gradients && !choices_.units.scatters)
      backward.leaves = Bytes(static_cast<double>(elements) * bytes_of(choices_.precision));
    work_.forward.repeats.push_back(std::move(forward));
    backwards_.push_back(std::move(backward));
  }

  const Model& model_;
  const Stack& stack_;
  const Choices& choices_;
  ChunkWork work_;
  UnitWriter units_;
  std::vector<Repeat> backwards_;  // in the model's order
  bool last_ = false;
};

}  // namespace

ChunkWork build_chunk(const Model& model, const Stack& stack, const Choices& choices, const Chunk& chunk) {
  CHECK_THAT(model.blocks.size() == 1);
  return ChunkWriter(model, stack, choices).write(chunk);
}

std::int64_t padded_vocab(const Model& model, const Stack& stack, std::int64_t tp) {
  const std::int64_t multiple = stack.vocab_multiple * tp;
  return (model.vocab + multiple - 1) / multiple * multiple;
}

namespace {

// Weight matrices of a part, which holds each as a product.
std::int64_t matrices(const Part& part, const Model& model) {
  std::int64_t count = 0;
  for (const PartOperator& op : part) {
    const bool other_form = op.when == (model.fused_qkv ? Condition::kSplitQkv : Condition::kFusedQkv);
    if (op.kind == OperatorKind::kLinear && !other_form) count += op.times;
  }
  return count;
}

}  // namespace

ParameterShare parameter_share(const Model& model, const Stack& stack, std::int64_t tp, const Chunk& chunk,
                               bool ends_together) {
  CHECK_THAT(model.blocks.size() == 1);
  const Block& b = model.blocks.front().block;
  const std::int64_t h = model.hidden;
  const std::int64_t q = b.q_width() / tp;
  const std::int64_t kv = std::max<std::int64_t>(b.kv_heads / tp, 1) * b.head_dim;
  const std::int64_t up = (is_gated(b.mlp) ? 2 : 1) * b.ffn / tp;
  const std::int64_t norm = norm_parameters(model);
  const std::int64_t norm_tensors = model.norm_bias && model.norm == Norm::kLayernorm ? 2 : 1;

  std::int64_t block = h * (q + 2 * kv) + q * h + h * up + b.ffn / tp * h + 2 * norm;
  const std::int64_t qkv_tensors = matrices(stack.qkv, model);
  const std::int64_t other_tensors =
      matrices(stack.projection, model) + matrices(stack.mlp[static_cast<std::size_t>(b.mlp)], model);
  std::int64_t block_tensors = qkv_tensors + other_tensors + 2 * norm_tensors;
  if (model.qk_norm) block += 2 * norm_tensors * b.head_dim, block_tensors += 2 * norm_tensors;
  if (model.qkv_bias) block += q + 2 * kv, block_tensors += qkv_tensors;
  if (model.biases) block += h + up + h, block_tensors += other_tensors;  // row-parallel: on every rank

  ParameterShare share;
  share.elements = chunk.layers * block;
  share.matrix_elements = chunk.layers * (h * (q + 2 * kv) + q * h + h * up + b.ffn / tp * h);
  if (chunk.layers > 0)
    share.largest_matrix = share.largest_tensor = h * std::max({q + 2 * kv, up, b.ffn / tp});
  share.tensors = chunk.layers * block_tensors;
  const std::int64_t table = padded_vocab(model, stack, tp) / tp * h;
  if (chunk.first || chunk.last) share.largest_tensor = std::max(share.largest_tensor, table);
  if (chunk.first) {
    share.elements += table + position_parameters(model) + (model.embedding_norm ? norm : 0);
    share.tensors += 1 + (position_parameters(model) > 0 ? 1 : 0) + (model.embedding_norm ? norm_tensors : 0);
  }
  if (chunk.last) {
    share.elements += norm;
    share.tensors += norm_tensors;
    if (!model.tied || !ends_together) share.elements += table, ++share.tensors;
  }
  if (model.tied && !ends_together && (chunk.first || chunk.last)) share.embedding_elements = table;
  return share;
}

UpdateFormat update_format(const Plan& plan, const Stack& stack) {
  UpdateFormat format;
  format.precision = plan.precision;
  format.grad_dtype = accumulation_dtype(plan, stack);
  format.moment_bytes = static_cast<std::int64_t>(bytes_of(stack.moment_dtype));
  if (plan.optimizer == OptimizerKind::kAdamwBf16) format.moment_bytes = 2;
  if (plan.optimizer == OptimizerKind::kAdamw8bit) format.moment_bytes = 1;
  format.master = plan.precision != Dtype::kFp32 &&
                  (plan.master_weights.value_or(stack.master_weights) || stack.fp32_weights);
  return format;
}

Pass build_optimizer(const Stack& stack, const UpdateFormat& format, std::int64_t elements,
                     std::int64_t owned, std::int64_t tensors) {
  const auto size = [](Dtype dtype) { return static_cast<std::int64_t>(bytes_of(dtype)); };
  Repeat repeat;
  if (stack.calls_per_step > 0)
    repeat.tasks.push_back(host_task(Direction::kForward, stack.calls_per_step, true));
  for (const PartOperator& entry : stack.optimizer) {
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
