#include "workload/task_writer.h"

#include "operators/optimizer.h"
#include "operators/product.h"
#include "workload/host_work.h"

namespace foretrain {
namespace {

// What the GPU has made is copied, and the copy is waited for.
constexpr std::int64_t kCallsOfRead = 2;

Direction forward_direction(bool recompute) { return recompute ? Direction::kBackward : Direction::kForward; }

// Tokens on their way to experts or back, and keys and values that go round a ring.
bool has_work_beside(const Exchange& exchange) {
  using enum GroupKind;
  return exchange.group == kExpert || exchange.group == kExpertTensor || exchange.group == kContext ||
         exchange.group == kContextRing;
}

// Whether the exchange items[i] adds up what a product made that is written too.
bool is_left(const std::vector<BlockItem>& items, std::size_t begin, std::size_t i) {
  std::size_t before = i;
  while (before > begin && items[before - 1].is_cast()) --before;
  return before > begin && items[before - 1].has_weights() && items[before - 1].launches[0] > 0 &&
         left_through(items, before - 1) != nullptr;
}

}  // namespace

TaskWriter::TaskWriter(const Model& model, const Stack& stack, const PassShape& shape)
    : shape_(shape),
      overlaps_(shape.tp_overlap),
      blocking_(stack.tensor_parallel.blocking && !shape.tp_overlap),
      gather_again_(shape.sp_gather_again),
      copies_sequences_(stack.tensor_parallel.sp_copies && shape.sp && !shape.tp_overlap),
      activation_sizes_{.tokens = shape.tokens(), .width = model.hidden},
      // Under ZeRO 2 and 3 whole gradients live for one backward; only shards are added up.
      fused_accumulation_(stack.gradients.fused_accumulation || shape.units.scatters),
      activation_(static_cast<double>(shape.tokens() * model.hidden) * bytes_of(shape.precision)) {}

void TaskWriter::forward(const std::vector<BlockItem>& items, std::size_t begin, std::size_t end,
                         bool recompute) {
  tasks_.reserve(tasks_.size() + end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    const BlockItem& item = items[i];
    look_at(item);
    if (item.waits) {
      tasks_.push_back(host_task(forward_direction(recompute), 0, true));
      tasks_.back().recompute = recompute;
    } else if (!item.exchange) {
      if (item.launches[0] == 0) continue;
      // What adds up a product's output runs beside it: it is written first.
      const Exchange* left = overlaps_ && item.has_weights() ? left_through(items, i) : nullptr;
      if (left != nullptr)
        add_collective(*left->forward, *left, forward_direction(recompute), recompute, Waits::kLater);
      add_operator(item, PassKind::kForward, 0, recompute);
      const bool enters =
          overlaps_ && (item.has_weights() || item.is_cast()) && entered_through(items, i) != nullptr;
      if (left != nullptr || enters) tasks_.back().beside = true;
      if (item.over_tensor) add_scale_exchange(forward_direction(recompute), recompute);
    } else if (item.exchange->forward) {
      if (overlaps_ && is_left(items, begin, i)) continue;
      std::size_t next = i + 1;
      while (next < end && items[next].exchange) ++next;
      const bool beside = has_work_beside(*item.exchange) && next < end && items[next].beside;
      add_collective(*item.exchange->forward, *item.exchange, forward_direction(recompute), recompute,
                     beside || (overlaps_ && enters_product(items, i)) ? Waits::kLater : Waits::kNow);
    }
  }
}

void TaskWriter::backward(const std::vector<BlockItem>& items, bool selective) {
  tasks_.reserve(tasks_.size() + 2 * items.size());
  for (std::size_t i = items.size(); i-- > 0;) {
    const BlockItem& item = items[i];
    if (selective && item.selective && (i + 1 == items.size() || !items[i + 1].selective)) {
      std::size_t begin = i;
      while (begin > 0 && items[begin - 1].selective) --begin;
      forward(items, begin, i + 1, true);
    }
    if (item.tiled && (i + 1 == items.size() || !items[i + 1].tiled)) {
      std::size_t begin = i;
      while (begin > 0 && items[begin - 1].tiled) --begin;
      forward(items, begin, i + 1, true);
    }
    // Work beside an exchange follows it backward too.
    if (item.beside) {
      std::size_t begin = i;
      while (items[begin - 1].beside) --begin;
      std::size_t first = begin;  // of the exchanges that it runs beside
      for (; first > 0 && items[first - 1].exchange && has_work_beside(*items[first - 1].exchange); --first)
        if (const Exchange& exchange = *items[first - 1].exchange; exchange.backward) {
          look_at(items[first - 1]);
          add_collective(*exchange.backward, exchange, Direction::kBackward, false, Waits::kLater);
        }
      const std::size_t start = tasks_.size();
      for (std::size_t k = i + 1; k-- > begin;) item_backward(items, k);
      for (std::size_t k = start; k < tasks_.size(); ++k)
        if (tasks_[k].kind == Task::Kind::kOperator) tasks_[k].beside = true;
      i = first;
      continue;
    }
    item_backward(items, i);
  }
}

void TaskWriter::item_backward(const std::vector<BlockItem>& items, std::size_t i) {
  const BlockItem& item = items[i];
  look_at(item);
  if (item.early) return;
  if (!item.exchange) operator_backward(items, i);
  // What a product's input came through is written with the product, so that its W can run beside it.
  else if (!enters_product(items, i))
    exchange_backward(*item.exchange, overlaps_ && is_left(items, 0, i));
}

void TaskWriter::early_backward(const std::vector<BlockItem>& items) {
  const std::size_t begin = tasks_.size();
  for (std::size_t i = items.size(); i-- > 0;) {
    const BlockItem& item = items[i];
    if (!item.early || !item.has_backward) continue;
    if (!item.has_weights()) {
      add_operator(item, PassKind::kBackward, 1, false);
      continue;
    }
    if (item.launches[1] > 0) add_operator(item, PassKind::kInput, 1, false);
    if (item.launches[2] > 0) {
      add_operator(item, PassKind::kWeight, 2, false);
      if (shape_.loss.kind != LossKind::kFused) accumulate(item);  // Liger's product adds up itself
    }
  }
  for (std::size_t i = begin; i < tasks_.size(); ++i) {
    tasks_[i].direction = Direction::kForward;
    tasks_[i].lets_go = tasks_[i].leaves = Bytes(0);
  }
}

void TaskWriter::add_tied_gradients(std::int64_t width, std::int64_t rows) {
  if (!fused_accumulation_) add_accumulate(width, rows, bytes_of(shape_.precision), 1);
}

void TaskWriter::gather_checkpoint() {
  const Exchange of_ranks{.group = GroupKind::kTensor, .bytes = Bytes(activation_)};
  add_collective(CollectiveKind::kAllGather, of_ranks, Direction::kBackward, true);
}

void TaskWriter::add_operator(const BlockItem& item, PassKind pass, std::size_t which, bool recompute) {
  Task task;
  task.capture = capture_;
  task.op = item.op;
  task.op.pass = item.is_cast() ? PassKind::kForward : pass;
  if (item.narrow && pass != PassKind::kForward)
    task.op.dtype = pass == PassKind::kWeight ? item.weight_dtype : item.input_dtype;
  task.op.launches = static_cast<std::int32_t>(item.launches[which]);
  task.times = item.times;
  task.recompute = recompute;
  task.beside = item.beside;
  task.direction = pass == PassKind::kWeight    ? Direction::kWeight
                   : pass == PassKind::kForward ? forward_direction(recompute)
                                                : Direction::kBackward;
  if (pass == PassKind::kForward && !recompute)
    task.saved = shape_.recompute == Recompute::kSelective ? item.selective_saved : item.saved;
  if (pass == PassKind::kWeight) task.leaves = weight_gradient(item);
  if (pass == PassKind::kWeight || pass == PassKind::kBackward) task.lets_go = item.saved;
  if (pass == PassKind::kForward && item.reads > 0) {
    task.turns = true;
    task.calls = kCallsOfRead * item.reads;
  }
  if (item.extra) task.extra = (*item.extra)[pass == PassKind::kForward ? 0 : 1];
  tasks_.push_back(task);
}

void TaskWriter::add_collective(CollectiveKind kind, const Exchange& exchange, Direction direction,
                                bool recompute, Waits waits) {
  Task task;
  task.kind = Task::Kind::kCollective;
  const bool fewer = kind == CollectiveKind::kAllGather && exchange.gathered > Bytes(0);
  task.collective = {kind,         exchange.group,   fewer ? exchange.gathered : exchange.bytes,
                     false,        exchange.experts, exchange.top_k,
                     exchange.row, exchange.groups,  exchange.group_limit};
  task.times = exchange.times;
  task.capture = capture_;
  task.direction = direction;
  task.recompute = recompute;
  task.beside = exchange.hidden;
  task.blocking = !exchange.hidden && (waits == Waits::kNow || (waits == Waits::kByStack && blocking_));
  // What is gathered lies rank by rank, and what is scattered must: a copy to or from how the sequence lies.
  const bool copies = copies_sequences_ && exchange.group == GroupKind::kTensor;
  const auto copy = [&] {
    Task around;
    around.capture = capture_;
    around.direction = direction;
    around.recompute = recompute;
    around.op =
        pointwise(OperatorKind::kCopy, activation_sizes_, {.impl = Impl::kEager, .dtype = shape_.precision});
    tasks_.push_back(around);
  };
  if (copies && kind == CollectiveKind::kReduceScatter) copy();
  tasks_.push_back(task);
  if (copies && kind == CollectiveKind::kAllGather) copy();
}

void TaskWriter::add_scale_exchange(Direction direction, bool recompute) {
  const Exchange number{.group = GroupKind::kTensor, .bytes = Bytes(bytes_of(Dtype::kFp32))};
  add_collective(CollectiveKind::kAllReduce, number, direction, recompute, Waits::kNow);
}

void TaskWriter::exchange_backward(const Exchange& exchange, bool beside_product) {
  if (exchange.backward)
    add_collective(*exchange.backward, exchange, Direction::kBackward, false,
                   beside_product    ? Waits::kLater
                   : exchange.enters ? Waits::kByStack
                                     : Waits::kNow);
}

void TaskWriter::operator_backward(const std::vector<BlockItem>& items, std::size_t i) {
  const BlockItem& item = items[i];
  if (!item.has_backward) return;
  const Exchange* entered = entered_through(items, i);
  const bool gathered = overlaps_ && left_through(items, i) != nullptr;  // beside it
  if (!item.has_weights()) {
    add_operator(item, PassKind::kBackward, 1, false);
    if (gathered) tasks_.back().beside = true;
    if (item.over_tensor) add_scale_exchange(Direction::kBackward, false);
    return;
  }
  // The input's shard is gathered again for W, beside B.
  const bool needs_input = item.launches[2] > 0 || item.adapters > 0;
  if (entered && gather_again_ && needs_input)
    add_collective(CollectiveKind::kAllGather, *entered, Direction::kWeight, false, Waits::kByStack);
  if (item.launches[1] > 0) {
    add_operator(item, PassKind::kInput, 1, false);
    if (gathered) tasks_.back().beside = true;
  }
  if (entered) exchange_backward(*entered);
  if (item.launches[2] > 0) {
    add_operator(item, PassKind::kWeight, 2, false);
    accumulate(item);
  }
}

Bytes TaskWriter::weight_gradient(const BlockItem& item) const {
  const auto [m, k, n] = item.product();
  return Bytes(k * n * static_cast<double>(item.matrices() * item.times / item.pieces) *
               bytes_of(shape_.grad_dtype));
}

// An accumulator in a wider format is always added to; .grad itself only from the second micro-batch on.
void TaskWriter::accumulate(const BlockItem& item) {
  const bool wider = bytes_of(shape_.grad_dtype) > bytes_of(shape_.precision);
  const bool always = wider || shape_.accumulates;
  const std::int64_t times = always ? item.times : item.times - item.times / item.pieces;
  if (fused_accumulation_ || times == 0) return;
  const ProductSizes product = item.product();
  add_accumulate(static_cast<std::int64_t>(product.k) * item.matrices(), static_cast<std::int64_t>(product.n),
                 bytes_of(shape_.grad_dtype), times);
}

void TaskWriter::add_accumulate(std::int64_t k, std::int64_t n, double bytes, std::int64_t times) {
  Task task;
  task.capture = capture_;
  task.direction = Direction::kWeight;
  task.op = foretrain::accumulate({.k = k, .n = n, .grad_bytes = static_cast<std::int64_t>(bytes)},
                                  {.pass = PassKind::kWeight, .dtype = shape_.precision});
  task.times = times;
  tasks_.push_back(task);
}

}  // namespace foretrain
