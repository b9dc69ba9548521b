#include "workload/sharded_units.h"

#include <algorithm>

#include "operators/pointwise.h"
#include "workload/host_work.h"
#include "workload/parameter_share.h"

namespace foretrain {

void UnitWriter::gather(std::vector<Task>& tasks, const UnitWeights& weights, Direction direction) const {
  const ShardExchange exchange = stack_.data_parallel.shard_exchange;
  const bool waits = exchange == ShardExchange::kSynchronised;
  const bool by_tensor = waits || exchange == ShardExchange::kTensor;
  const std::int64_t tensors = by_tensor ? std::max<std::int64_t>(1, weights.tensors) : 1;
  std::vector<Task> first;
  for (const WeightClass of : kWeightClasses) {
    const Bytes bytes = weight_bytes(weights, of);
    if (bytes == Bytes(0) || (of == WeightClass::kExperts && shape_.units.shards[of] == 1)) continue;
    Task task = collective(CollectiveKind::kAllGather, groups_of(of).shard,
                           bytes / static_cast<double>(tensors), direction);
    task.times = waits ? 1 : tensors;
    task.calls *= task.times;
    task.prefetch = stack_.data_parallel.prefetch[direction == Direction::kForward ? 0 : 1];
    first.push_back(task);
  }
  if (waits && !first.empty()) first = one_by_one(first, weights, tensors, direction);
  tasks.insert(tasks.begin(), first.begin(), first.end());
}

// Of each tensor: the host waits for the device, then sends for it, and nothing goes on before its shards are copied.
std::vector<Task> UnitWriter::one_by_one(const std::vector<Task>& gathers, const UnitWeights& weights,
                                         std::int64_t tensors, Direction direction) const {
  std::vector<Task> all;
  for (std::int64_t i = 0; i < tensors; ++i) {
    all.push_back(host_task(direction, 0, true));
    all.back().device = true;
    for (const Task& gather : gathers) {
      all.push_back(gather);
      all.back().blocking = true;
    }
    all.push_back(shard_copies(weights, tensors, direction));
  }
  return all;
}

// A tensor is gathered as a list of the ranks' shards, of which each is copied to its place.
Task UnitWriter::shard_copies(const UnitWeights& weights, std::int64_t tensors, Direction direction) const {
  const std::int64_t pieces = shape_.units.shards[WeightClass::kCommon];
  const std::int64_t elements =
      std::max<std::int64_t>(1, weights.elements[WeightClass::kCommon] / (tensors * pieces));
  Task task;
  task.op = pointwise(OperatorKind::kCopy, {.tokens = 1, .width = elements},
                      {.impl = Impl::kEager, .dtype = shape_.precision});
  task.times = pieces;
  task.calls = pieces * stack_.host.calls_per_shard;
  task.direction = direction;
  return task;
}

void UnitWriter::scatter(std::vector<Task>& tasks, const UnitWeights& weights) {
  const std::int64_t elements = weights.trained();
  if (elements == 0) return;  // nothing of the unit is trained
  const Bytes whole(static_cast<double>(elements) * bytes_of(shape_.units.reduce_dtype));
  copy(tasks, elements);
  for (const WeightClass of : kWeightClasses) {
    if (weights.elements[of] == 0) continue;
    const WeightGroups groups = groups_of(of);
    const Bytes bytes(static_cast<double>(weights.elements[of]) * bytes_of(shape_.units.reduce_dtype));
    if (of == WeightClass::kCommon || shape_.units.shards[of] > 1)
      tasks.push_back(collective(stack_.data_parallel.zero_reduce_scatter ? CollectiveKind::kReduceScatter
                                                                          : CollectiveKind::kAllReduce,
                                 groups.shard, bytes, Direction::kWeight));
    if (shape_.units.replicated[of])
      tasks.push_back(collective(CollectiveKind::kAllReduce, groups.replica,
                                 bytes / static_cast<double>(shape_.units.shards[of]), Direction::kWeight));
  }
  // As autograd made them, and once more in the format of the reduction, where that is wider.
  const bool wider = bytes_of(shape_.units.reduce_dtype) > bytes_of(shape_.precision);
  const double buffers = static_cast<double>(stack_.data_parallel.reduce_buffers) - (wider ? 0 : 1);
  const Bytes gradients = Bytes(static_cast<double>(elements) * bytes_of(shape_.precision)) + whole * buffers;
  work_.unit_gradients = std::max(work_.unit_gradients, gradients);
}

void UnitWriter::unit(Repeat& forward, Repeat& backward, const UnitWeights& weights, bool is_block) {
  const UnitSharding& units = shape_.units;
  if (weights.empty()) return;
  if (units.gathers_forward) gather(forward.tasks.edit(), weights, Direction::kForward);
  if (units.gathers_backward && is_block) gather(backward.tasks.edit(), weights, Direction::kBackward);
  if (units.scatters) scatter(backward.tasks.edit(), weights);
  if (!is_block && (units.keeps_gathered || units.gathers_backward)) work_.gathered += gathered(weights);
}

void UnitWriter::keep_blocks(const UnitWeights& weights, std::int64_t blocks) {
  if (shape_.units.keeps_gathered) work_.gathered += gathered(weights) * static_cast<double>(blocks);
}

void UnitWriter::hold_blocks(const UnitWeights& largest, std::int64_t blocks) {
  if (shape_.units.keeps_gathered || !shape_.units.gathers_backward) return;
  const bool ahead = stack_.data_parallel.prefetch[0] != Prefetch::kNone ||
                     stack_.data_parallel.prefetch[1] != Prefetch::kNone;
  const std::int64_t at_once = std::min(blocks, ahead ? stack_.data_parallel.gathered_units : 1);
  work_.gathered += gathered(largest) * static_cast<double>(at_once);
}

UnitWeights UnitWriter::weights(const Chunk& part, bool ends_together) const {
  const ParameterShare share =
      parameter_share(model_, stack_, shape_.weight_ranks(), part, ends_together, shape_.adapters);
  UnitWeights weights;
  weights.tensors = share.tensors;
  for (const WeightClass of : kWeightClasses) {
    weights.elements[of] = share.of(of).elements;
    if (!shape_.adapters.frozen()) weights.matrices[of] = share.of(of).narrow_elements;
    weights.frozen[of] = share.frozen.bytes(of, shape_.adapters, shape_.precision).value;
    // As they lie on each rank: a base that is kept in fewer bits by the recipe travels so.
    if (shape_.low.is_narrow() && !shape_.adapters.quantised())
      weights.frozen[of] += static_cast<double>(share.frozen.narrow[of]) *
                            (shape_.low.weight_bytes() - bytes_of(shape_.precision));
  }
  return weights;
}

// Experts that no other rank holds lie here whole already.
Bytes UnitWriter::gathered(const UnitWeights& weights) const {
  const bool experts = shape_.units.shards[WeightClass::kExperts] > 1;
  const Bytes common = weight_bytes(weights, WeightClass::kCommon);
  return experts ? common + weight_bytes(weights, WeightClass::kExperts) : common;
}

// Frozen ones travel as they lie, quantised or not.
Bytes UnitWriter::weight_bytes(const UnitWeights& weights, WeightClass of) const {
  // Matrices that are kept in fewer bits may travel so.
  const double fewer =
      shape_.low.is_narrow() ? bytes_of(shape_.precision) - shape_.low.travelling_bytes() : 0;
  return Bytes(static_cast<double>(weights.elements[of]) * bytes_of(shape_.precision) -
               static_cast<double>(weights.matrices[of]) * fewer + weights.frozen[of]);
}

void UnitWriter::copy(std::vector<Task>& tasks, std::int64_t elements) const {
  if (stack_.data_parallel.gradient_copies == 0) return;
  Task task;
  const TokenSizes sizes = {.tokens = (elements + model_.hidden - 1) / model_.hidden, .width = model_.hidden};
  task.op = pointwise(OperatorKind::kCopy, sizes, {.dtype = shape_.precision});
  task.times = stack_.data_parallel.gradient_copies;
  task.direction = Direction::kWeight;
  tasks.push_back(task);
}

// Into or out of a buffer of its own, so not in place.
Task UnitWriter::collective(CollectiveKind kind, GroupKind group, Bytes bytes, Direction direction) const {
  Task task;
  task.kind = Task::Kind::kCollective;
  task.collective = {kind, group, bytes};
  task.direction = direction;
  task.blocking = direction == Direction::kWeight && !shape_.units.beside;
  const bool shards = group == GroupKind::kShard || group == GroupKind::kExpertShard;
  task.calls = shards ? stack_.host.calls_per_unit : 0;
  return task;
}

}  // namespace foretrain
