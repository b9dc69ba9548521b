#include "predict/shape_floors.h"

#include "memory/memory.h"
#include "segment/segment.h"

namespace foretrain {
namespace {

// Of some KiB each.
constexpr std::size_t kMostShapes = 4096;

// What a chunk does once, whatever its layers, is no layer's.
void leave_layers(Pass& pass) {
  std::erase_if(pass.repeats, [](const Repeat& repeat) { return !repeat.is_layer; });
}

LeastPass least_pass(const Setting& setting, const Pass& pass, const Network& network,
                     const CostSource& costs) {
  LeastPass out;
  out.least = least(pass, costs, network, setting.cluster.host_launch);
  for (const Repeat& repeat : pass.repeats)
    for (const Task& task : repeat.tasks) {
      const GroupKind group = task.collective.group;
      // Sums over replicas may go beside the others; over how many, and whether, hangs on the shards.
      if (!on_data_stream(task) || (group != GroupKind::kShard && group != GroupKind::kExpertShard)) continue;
      const bool stops = is_gather(task) ? task.prefetch == Prefetch::kNone : task.blocking;
      out.shards.push_back({task.collective,
                            static_cast<double>(task.times) * static_cast<double>(repeat.count), stops,
                            is_gather(task)});
    }
  return out;
}

}  // namespace

const ShapeFloor& ShapeFloors::of(const Job& job, const Network& network, ChunkMemo& memo) {
  ShapeKey key = shape_key(setting_, job, network);
  key.passes = units_shape(key.passes);
  for (const WeightClass of : kWeightClasses)
    if (key.passes.units.shards[of] > 1) key.passes.units.shards[of] = 2;
  key.passes.units.replicated = {};
  key.passes.units.beside = key.passes.units.scatters;  // whatever overlaps
  key.shard = key.replica = key.expert_shard = key.expert_replica = {};
  key.drained = key.ends_together = key.split = false;
  if (last_ != nullptr && last_->first == key) return last_->second;
  if (known_.size() >= kMostShapes) {
    last_ = nullptr;
    known_.clear();
  }
  const auto found = known_.find(key);
  last_ = &*(found != known_.end() ? found : known_.emplace(key, make(key, network, memo)).first);
  return last_->second;
}

ShapeFloor ShapeFloors::make(const ShapeKey& key, const Network& network, ChunkMemo& memo) const {
  const auto unit = [&](const PassShape& passes, const Chunk& chunk) {
    ChunkWork work = memo.write(passes, chunk);
    const PassBytes bytes = pass_bytes(work);
    if (!chunk.first && !chunk.last)
      for (Pass* pass : {&work.forward, &work.backward}) leave_layers(*pass);
    return LeastUnit{least_pass(setting_, work.forward, network, memo.costs()),
                     least_pass(setting_, work.backward, network, memo.costs()),
                     bytes.held,
                     bytes.held_for_weight,
                     bytes.forward_extra,
                     bytes.backward_extra};
  };
  PassShape again = key.passes;
  const bool selective = key.passes.recompute == Recompute::kSelective;
  if (!selective) again.recompute = Recompute::kFull;
  const auto ways = [&](const Chunk& chunk) {
    ShapeFloor::Ways both;
    both.plain = unit(key.passes, chunk);
    both.again = selective ? both.plain : unit(again, chunk);
    return both;
  };
  ShapeFloor out;
  const Chunk all = all_layers_of(setting_.model, key.passes.low);
  for (std::size_t k = 0; k < kMaxBlockKinds && all.layers[k] > 0; ++k)
    for (const bool left : {false, true})
      if (const std::int64_t count = left ? all.plain[k] : all.layers[k] - all.plain[k]; count > 0)
        out.layers.push_back({ways(Chunk::of_kind(k, 1, left)), k, left, count});
  out.first = ways({0, true, false});
  out.last = ways({0, false, true});
  out.both = ways({0, true, true});
  return out;
}

}  // namespace foretrain
