#include "predict/chunk_memo.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "operators/attention.h"
#include "segment/task_price.h"
#include "workload/workload.h"

namespace foretrain {
namespace {

// Chunks that are remembered, of a few KiB each: a search goes through many more shapes than it comes back
// to.
constexpr std::size_t kMostChunks = 8192;
// Shapes whose units are, of some ten KiB each: it comes back to those of a few at a time.
constexpr std::size_t kMostWritten = 256;

void mix(std::uint64_t& h, std::int64_t value) {
  h = (h ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ull;
  h ^= h >> 29;
}

// Of attention over spans: with a ring each block of keys is a part of one.
double share_of_span(const Setting& setting, const PassShape& shape, const Operator& op) {
  if (!has_span(op)) return 1;
  const std::int64_t span = op.flat()[kCausalSize];
  for (const std::int64_t blocks : {std::int64_t{1}, shape.context.ring()})
    if (const double share =
            useful_span_share(setting.model, setting.packing, shape.spans, setting.seq, span * blocks);
        share < 1)
      return share;
  return 1;
}

// Products and attention as the model defines them (useful_share), recomputed tasks left out. The tasks are those
// of the rank with the most rows of experts and the longest documents: what it has more, others have less, and
// rows of padding and tiles that jut out are nobody's.
Flops model_flops(const Setting& setting, const PassShape& shape, const ChunkWork& work) {
  const double of_experts = 1 / std::max(shape.experts.rows, 1.0);
  Flops sum;
  for (const Pass* pass : {&work.forward, &work.backward})
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks) {
        if (task.kind != Task::Kind::kOperator || task.recompute) continue;
        const double share = task.op.kind == OperatorKind::kGroupedProduct ? of_experts
                             : is_attention(task.op.kind) ? share_of_span(setting, shape, task.op)
                                                          : 1.0;
        sum +=
            flops(task.op) * (useful_share(task.op) * share * static_cast<double>(task.times * repeat.count));
      }
  return sum;
}

// A wait for the host, like one for a launch.
void stretch(Segment& segment, Seconds least) {
  if (segment.duration == Seconds(0) || segment.duration >= least) return;
  segment.by_cause[static_cast<std::size_t>(Cause::kLaunch)] += least - segment.duration;
  for (Seconds& ready : segment.ready_before_end) ready = ready * (least / segment.duration);
  segment.duration = least;
}

std::uint64_t hash_of_passes(const PassShape& c) {
  std::uint64_t h = static_cast<std::uint64_t>(c.recompute) | static_cast<std::uint64_t>(c.attention) << 8 |
                    static_cast<std::uint64_t>(c.precision) << 16 | static_cast<std::uint64_t>(c.sp) << 24 |
                    static_cast<std::uint64_t>(c.partition_activations) << 25 |
                    static_cast<std::uint64_t>(c.accumulates) << 26 |
                    static_cast<std::uint64_t>(c.units.beside) << 27 |
                    static_cast<std::uint64_t>(c.units.gathers_forward) << 31 |
                    static_cast<std::uint64_t>(c.units.gathers_backward) << 32 |
                    static_cast<std::uint64_t>(c.units.keeps_gathered) << 63 |
                    static_cast<std::uint64_t>(c.units.scatters) << 33;
  mix(h, c.tp);
  mix(h, c.micro_batch);
  mix(h, c.recompute_layers * 4 + (c.sp_gather_again ? 2 : 0) + (c.offload ? 1 : 0));
  mix(h, c.units.shards[WeightClass::kCommon]);
  mix(h, c.ep * 4096 + c.etp);
  if (c.attention_kernel) mix(h, 1 + static_cast<int>(*c.attention_kernel));
  mix(h, c.spans[0] * 4096 + c.mlp_chunks * 16 + (c.stores_activation ? 8 : 0) + (c.loss.fused ? 4 : 0) +
             static_cast<int>(c.loss.kind));
  mix(h, c.context.ranks * 4096 + c.context.a2a * 4 + static_cast<int>(c.context.type));
  if (c.adapters.frozen())
    mix(h, c.adapters.rank << 16 | c.adapters.targets.bits << 8 | static_cast<int>(c.adapters.base));
  mix(h, c.graphs.scope.bits << 19 | c.modules.bits << 11 | (c.experts.reads ? 1024 : 0) |
             (c.experts.permute_fused ? 512 : 0) | (c.experts.router_fused ? 256 : 0) |
             (c.expert_products == ExpertProducts::kLoop ? 128 : 0) |
             static_cast<int>(c.experts.dispatcher) << 3 | (c.experts.hidden ? 4 : 0) |
             (c.experts.beside ? 2 : 0) | (c.experts.syncs ? 1 : 0));
  return h;
}

}  // namespace

ShapeKey shape_key(const Setting& setting, const Job& job, const Network& network) {
  ShapeKey key;
  key.passes = pass_shape(job);
  // A tensor-parallel group waits for each of its hosts, so their stalls add up.
  const Cluster& cluster = setting.cluster;
  if (job.mesh.pp > 1 && cluster.host_launch > Seconds(0) &&
      network.placed(GroupKind::kPipeline).crosses_nodes())
    key.passes.calls_beside_messages = std::llround(cluster.host_stall / cluster.host_launch) * job.mesh.tp;
  key.tensor = network.placed(GroupKind::kTensor);
  if (key.passes.units.scatters) {
    key.shard = network.placed(GroupKind::kShard);
    key.replica = network.placed(GroupKind::kReplica);
    key.expert_shard = network.placed(GroupKind::kExpertShard);
    key.expert_replica = network.placed(GroupKind::kExpertReplica);
  }
  if (job.mesh.ep > 1) key.expert = network.placed(GroupKind::kExpert);
  if (job.mesh.etp > 1) key.expert_tensor = network.placed(GroupKind::kExpertTensor);
  if (const ContextChoices& context = job.choices.context; context.ranks > 1) {
    key.context = network.placed(context.a2a > 1 ? context.a2a_group() : GroupKind::kContext);
    if (context.a2a > 1 && context.ring() > 1) key.context_ring = network.placed(context.ring_group());
  }
  key.drained = job.mesh.pp > 1 && setting.stack.pipeline.blocking && !job.choices.graphs.step;
  key.ends_together = job.pipeline.ends_together();
  key.split = splits_backward(job.pipeline.schedule);
  return key;
}

std::size_t ShapeKeyHash::operator()(const ShapeKey& key) const noexcept {
  std::uint64_t h = hash_of_passes(key.passes) ^ static_cast<std::uint64_t>(key.drained) << 28 ^
                    static_cast<std::uint64_t>(key.ends_together) << 29 ^
                    static_cast<std::uint64_t>(key.split) << 30;
  mix(h, key.tensor.domains);
  return h;
}

std::size_t ChunkMemo::PassShapeHash::operator()(const PassShape& shape) const noexcept {
  return hash_of_passes(shape);
}

std::size_t ChunkMemo::OptimizerKeyHash::operator()(const OptimizerKey& key) const noexcept {
  const UpdateFormat& f = key.format;
  std::uint64_t h = static_cast<std::uint64_t>(f.precision) << 8 | static_cast<std::uint64_t>(f.grad_dtype) |
                    static_cast<std::uint64_t>(f.moment_width) << 16 |
                    static_cast<std::uint64_t>(f.master) << 24 | static_cast<std::uint64_t>(f.by_cpu) << 25;
  mix(h, key.elements);
  mix(h, key.owned);
  mix(h, key.tensors * 4096 + f.loaded);
  mix(h, f.copied_shards);
  return h;
}

ChunkMemo::ChunkMemo(const Setting& setting, std::shared_ptr<const CostSource> costs)
    : setting_(setting), costs_(std::move(costs)) {}

ChunkWork ChunkMemo::write(const PassShape& shape, const Chunk& chunk) {
  const PassShape units = units_shape(shape);
  if (units_in_use_ == nullptr || !(units_in_use_->first == units)) {
    if (units_.size() >= kMostWritten) units_.clear();
    units_in_use_ = nullptr;
    units_in_use_ = &*units_.try_emplace(units).first;
  }
  return build_chunk(setting_.model, setting_.stack, shape, chunk, units_in_use_->second);
}

void ChunkMemo::use_shape(const ShapeKey& key) {
  if (shape_ != nullptr && shape_->first == key) return;
  if (chunk_count_ > kMostChunks) {
    shape_ = nullptr;
    shapes_.clear();
    chunk_count_ = 0;
  }
  shape_ = &*shapes_.try_emplace(key).first;
}

ChunkCost& ChunkMemo::bytes(const Chunk& chunk) {
  auto& chunks = shape_->second.chunks;
  const auto index =
      static_cast<std::size_t>(chunk.all_layers() * 4 + (chunk.first ? 2 : 0) + (chunk.last ? 1 : 0));
  if (index >= chunks.size()) chunks.resize(index + 1);
  std::unique_ptr<ChunkCost>* known = &chunks[index];
  for (; *known; known = &(*known)->other_kinds)
    if ((*known)->chunk == chunk) return **known;
  const ShapeKey& key = shape_->first;
  auto cost = std::make_unique<ChunkCost>();  // remembered when it is whole: what follows may throw
  cost->chunk = chunk;
  cost->bytes = pass_bytes(write(key.passes, chunk));
  cost->share = parameter_share(setting_.model, setting_.stack, key.passes.weight_ranks(), chunk,
                                key.ends_together, key.passes.adapters);
  *known = std::move(cost);
  ++chunk_count_;
  return **known;
}

void ChunkMemo::lay_out(ChunkCost& cost, const Network& network) {
  if (cost.laid_out) return;
  const ShapeKey& key = shape_->first;
  const ChunkWork work = write(key.passes, cost.chunk);
  const auto priced = [&](const Pass& pass) {
    return PricedPass(pass, costs_, network, setting_.cluster.host_launch);
  };
  const PricedPass forward = priced(work.forward), backward = priced(work.backward);
  cost.forward = foretrain::lay_out(forward, Seconds(0));
  cost.backward = foretrain::lay_out(backward, key.drained ? Seconds(0) : cost.forward.lead);
  if (!key.drained &&
      key.passes.accumulates) {  // a micro-batch in the middle of a step: the lead has settled
    cost.forward = foretrain::lay_out(forward, cost.backward.lead);
    cost.backward = foretrain::lay_out(backward, cost.forward.lead);
  }
  if (key.split) {
    const Pass input = only(work.backward, Direction::kBackward);
    const Pass weight = only(work.backward, Direction::kWeight);
    cost.input = foretrain::lay_out(priced(input), key.drained ? Seconds(0) : cost.forward.lead);
    cost.weight = foretrain::lay_out(priced(weight), key.drained ? Seconds(0) : cost.input.lead);
  }
  if (key.passes.experts.hidden) {
    PassShape alone = key.passes;
    alone.experts.hidden = false;
    const ChunkWork waiting = write(alone, cost.chunk);
    const Seconds lead = key.drained ? Seconds(0) : cost.forward.lead;
    const auto longer = [&](const Pass& pass, Seconds ahead, const Segment& beside) {
      return std::max(Seconds(0), foretrain::lay_out(priced(pass), ahead).duration - beside.duration);
    };
    cost.forward_unpaired = longer(waiting.forward, Seconds(0), cost.forward);
    cost.backward_unpaired = longer(waiting.backward, lead, cost.backward);
  }
  // Copies to and from the host run beside the passes, which last at least as long.
  if (key.passes.offload)
    for (Segment* segment : {&cost.forward, &cost.backward, &cost.input})
      stretch(*segment, cost.bytes.offloaded / host_rate(setting_.cluster));
  cost.model_flops = model_flops(setting_, key.passes, work);
  cost.laid_out = true;
}

const Segment& ChunkMemo::optimizer(const OptimizerKey& key, const Network& network) {
  const auto found = optimizers_.find(key);
  if (found != optimizers_.end()) return found->second;
  const Pass pass = build_optimizer(setting_.stack, key.format, key.elements, key.owned, key.tensors,
                                    key.matrices, key.iterated);
  return optimizers_
      .emplace(key, foretrain::lay_out(pass, costs_, network, setting_.cluster.host_launch, Seconds(0)))
      .first->second;
}

}  // namespace foretrain
