#include "predict/evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/check.h"
#include "cost/analytic.h"
#include "predict/nearest.h"
#include "predict/uncertainty.h"
#include "segment/contention.h"

namespace foretrain {
namespace {

// Chunks that are remembered, of a few KiB each: a search goes through many more shapes than it comes back
// to.
constexpr std::size_t kMostChunks = 8192;

// Power of a GPU that waits (for its turn in the pipeline, a message, the host) as a share of its cap:
// assumed.
constexpr double kWaitPowerShare = 0.3;

// A bound adds up what the simulation does, in another order: this much less, it is one in spite of rounding.
constexpr double kBelowRounding = 1 - 1e-11;

// Chunks of equal size are looked for among so many before: of few sizes, in turns.
constexpr std::size_t kNearChunks = 4;

// Fewer passes than this are simulated as soon as bounded.
constexpr std::int64_t kFewPasses = 2048;

void mix(std::uint64_t& h, std::int64_t value) {
  h = (h ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ull;
  h ^= h >> 29;
}

// Products and attention as the model defines them, whatever implements them: recomputed tasks and pointwise
// work left out, flash attention's backward without the scores that it makes again (four products of five),
// and of unfused attention's full squares the half that the causal mask keeps.
Flops model_flops(const ChunkWork& work) {
  Flops sum;
  for (const Pass* pass : {&work.forward, &work.backward})
    for (const Repeat& repeat : pass->repeats)
      for (const Task& task : repeat.tasks) {
        if (task.kind != Task::Kind::kOperator || task.recompute) continue;
        double useful = 1.0;
        if (task.op.kind == OperatorKind::kBatchedProduct) useful = 0.5;
        if (task.op.kind == OperatorKind::kAttention && task.op.pass == PassKind::kBackward) useful = 0.8;
        sum += flops(task.op) * (useful * static_cast<double>(task.times * repeat.count));
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

}  // namespace

std::size_t Evaluator::ShapeKeyHash::operator()(const ShapeKey& key) const noexcept {
  const Choices& c = key.choices;
  std::uint64_t h =
      static_cast<std::uint64_t>(c.recompute) | static_cast<std::uint64_t>(c.attention) << 8 |
      static_cast<std::uint64_t>(c.precision) << 16 | static_cast<std::uint64_t>(c.sp) << 24 |
      static_cast<std::uint64_t>(c.partition_activations) << 25 |
      static_cast<std::uint64_t>(c.accumulates) << 26 | static_cast<std::uint64_t>(c.units.beside) << 27 |
      static_cast<std::uint64_t>(key.drained) << 28 | static_cast<std::uint64_t>(key.ends_together) << 29 |
      static_cast<std::uint64_t>(key.split) << 30 |
      static_cast<std::uint64_t>(c.units.gathers_forward) << 31 |
      static_cast<std::uint64_t>(c.units.gathers_backward) << 32 |
      static_cast<std::uint64_t>(c.units.keeps_gathered) << 63 |
      static_cast<std::uint64_t>(c.units.scatters) << 33;
  mix(h, c.tp);
  mix(h, c.micro_batch);
  mix(h, key.tensor.domains);
  mix(h, c.recompute_layers * 4 + (c.sp_gather_again ? 2 : 0) + (c.offload ? 1 : 0));
  mix(h, c.units.shards);
  return h;
}

std::size_t Evaluator::OptimizerKeyHash::operator()(const OptimizerKey& key) const noexcept {
  const UpdateFormat& f = key.format;
  std::uint64_t h = static_cast<std::uint64_t>(f.precision) << 8 | static_cast<std::uint64_t>(f.grad_dtype) |
                    static_cast<std::uint64_t>(f.moment_bytes) << 16 |
                    static_cast<std::uint64_t>(f.master) << 24;
  mix(h, key.elements);
  mix(h, key.owned);
  mix(h, key.tensors);
  return h;
}

Evaluator::Evaluator(Model model, Cluster cluster, Stack stack, std::int64_t seq,
                     std::shared_ptr<const CostSource> costs)
    : model_(std::move(model)),
      cluster_(std::move(cluster)),
      stack_(std::move(stack)),
      seq_(seq),
      costs_(costs ? std::move(costs) : std::make_shared<const AnalyticCost>(cluster_)) {}

const Network& Evaluator::network_of(const Plan& plan) {
  const Layout layout{.tp = plan.tp, .cp = plan.cp, .dp = plan.dp, .pp = plan.pp, .shard = plan.shard};
  if (!network_ || !(layout == network_layout_)) {
    network_.emplace(cluster_, layout);
    network_layout_ = layout;
  }
  return *network_;
}

void Evaluator::use_shape(const ShapeKey& key) {
  if (shape_ != nullptr && shape_->first == key) return;
  if (chunk_count_ > kMostChunks) {
    shapes_.clear();
    chunk_count_ = 0;
  }
  shape_ = &*shapes_.try_emplace(key).first;
}

Evaluator::ChunkCost& Evaluator::chunk_bytes(const Chunk& chunk) {
  auto& chunks = shape_->second.chunks;
  const auto index =
      static_cast<std::size_t>(chunk.layers * 4 + (chunk.first ? 2 : 0) + (chunk.last ? 1 : 0));
  if (index >= chunks.size()) chunks.resize(index + 1);
  auto& cost = chunks[index];
  if (cost) return *cost;
  const ShapeKey& key = shape_->first;
  cost = std::make_unique<ChunkCost>();
  ++chunk_count_;
  cost->chunk = chunk;
  cost->bytes = pass_bytes(build_chunk(model_, stack_, key.choices, chunk));
  cost->share = parameter_share(model_, stack_, key.choices.tp, chunk, key.ends_together);
  return *cost;
}

void Evaluator::lay_out_chunk(ChunkCost& cost, const Network& network) {
  if (cost.laid_out) return;
  const ShapeKey& key = shape_->first;
  const ChunkWork work = build_chunk(model_, stack_, key.choices, cost.chunk);
  const auto lay = [&](const Pass& pass, Seconds lead) {
    return lay_out(pass, costs_, network, cluster_.host_launch, lead);
  };
  cost.forward = lay(work.forward, Seconds(0));
  cost.backward = lay(work.backward, key.drained ? Seconds(0) : cost.forward.lead);
  if (!key.drained &&
      key.choices.accumulates) {  // a micro-batch in the middle of a step: the lead has settled
    cost.forward = lay(work.forward, cost.backward.lead);
    cost.backward = lay(work.backward, cost.forward.lead);
  }
  if (key.split) {
    cost.input = lay(only(work.backward, Direction::kBackward), key.drained ? Seconds(0) : cost.forward.lead);
    cost.weight = lay(only(work.backward, Direction::kWeight), key.drained ? Seconds(0) : cost.input.lead);
  }
  // Copies to and from the host run beside the passes, which last at least as long.
  if (key.choices.offload)
    for (Segment* segment : {&cost.forward, &cost.backward, &cost.input})
      stretch(*segment, cost.bytes.offloaded / cluster_.gpu.host);
  cost.model_flops = model_flops(work);
  cost.laid_out = true;
}

const Segment& Evaluator::optimizer_cost(const OptimizerKey& key, const Network& network) {
  const auto found = optimizers_.find(key);
  if (found != optimizers_.end()) return found->second;
  const Pass pass = build_optimizer(stack_, key.format, key.elements, key.owned, key.tensors);
  return optimizers_.emplace(key, lay_out(pass, costs_, network, cluster_.host_launch, Seconds(0)))
      .first->second;
}

// Of each chunk of the model, in its order.
const std::vector<std::int64_t>& Evaluator::layers_of(const Plan& plan) {
  const std::int64_t chunks = plan.model_chunks();
  if (static_cast<std::int64_t>(plan.layers_per_stage.size()) == chunks) return plan.layers_per_stage;
  if (!plan.layers_per_stage.empty()) {  // by stage: evenly over its chunks, the first ones first
    const Placement placement{plan.effective_schedule(), plan.pp, plan.chunks_per_stage()};
    chunk_layers_.assign(static_cast<std::size_t>(chunks), 0);
    for (std::int64_t n = 0; n < chunks; ++n) {
      const std::int64_t layers = plan.layers_per_stage[static_cast<std::size_t>(placement.rank(n))];
      const std::int64_t extra = placement.chunk(n) < layers % placement.chunks ? 1 : 0;
      chunk_layers_[static_cast<std::size_t>(n)] = layers / placement.chunks + extra;
    }
    return chunk_layers_;
  }
  auto found = splits_.find(chunks);
  if (found == splits_.end())
    found = splits_.emplace(chunks, split_layers(model_, stack_.split, chunks)).first;
  return found->second;
}

void Evaluator::make_buckets(const ChunkCost& cost, double stretch, const Network& network, Bytes grad_bytes,
                             const Plan& plan) {
  const bool overlap = plan.overlap_grad_reduce.value_or(stack_.overlap_grad_reduce);
  const bool reduce_scatter = plan.zero >= 1 && plan.shards() > 1 && stack_.zero_reduce_scatter;
  const bool in_passes = plan.zero >= 2 && plan.dp * plan.cp > 1;  // reduced unit by unit already
  // Gradients are complete in the last pass to weights. (Of dualpipe a chunk may end with a whole backward,
  // in which they are complete sooner; that is left out.)
  const bool split = splits_backward(plan.effective_schedule());
  const Segment& last = split ? cost.weight : cost.backward;
  const auto& ready = last.ready_before_end;
  const double longer = AtClock(last, stretch).longer();
  const double elements = static_cast<double>(cost.share.elements);
  std::int64_t count = 1;
  if (overlap && stack_.bucket_elements > 0)
    count = static_cast<std::int64_t>(std::ceil(elements / static_cast<double>(stack_.bucket_elements)));
  // Buckets close at layer ends; more of them than layers only adds latency.
  count =
      std::clamp<std::int64_t>(count, 1, std::max<std::int64_t>(1, static_cast<std::int64_t>(ready.size())));
  if (in_passes) count = 1;
  const Bytes share = grad_bytes / static_cast<double>(count);
  Seconds seconds;
  if (reduce_scatter && !in_passes)  // to shards, which copies of the model then sum
    seconds = network.cost({CollectiveKind::kReduceScatter, GroupKind::kShard, share, true}).seconds +
              network
                  .cost({CollectiveKind::kAllReduce, GroupKind::kReplica,
                         share / static_cast<double>(plan.shards()), true})
                  .seconds;
  else if (!in_passes)
    seconds = network.cost({CollectiveKind::kAllReduce, GroupKind::kData, share, true}).seconds;
  // Dualpipe's two copies of a chunk, on mirrored ranks, are summed too: shard by shard, in pairs like first
  // and last rank's.
  if (runs_both_ways(plan.effective_schedule()))
    seconds += network
                   .cost({CollectiveKind::kAllReduce, GroupKind::kEmbedding,
                          share / static_cast<double>(plan.dp * plan.cp)})
                   .seconds;
  if (count == 1) {
    buckets_.push_back({Seconds(0), seconds});
    return;
  }
  const auto ready_at = [&](std::int64_t bucket) {
    const auto layers = static_cast<std::int64_t>(ready.size());
    return ready[static_cast<std::size_t>((bucket + 1) * layers / count) - 1] * longer;
  };
  // All buckets but the last run beside what is left of the backward: each takes longer, and the backward
  // ends later, after which the last is reduced.
  const Seconds queue = seconds * static_cast<double>(count - 1);
  const Beside run = beside(ready_at(0), queue);
  const Seconds each = seconds + collective_delay(queue, run.both) / static_cast<double>(count - 1);
  for (std::int64_t i = 0; i + 1 < count; ++i) buckets_.push_back({ready_at(i), each});
  buckets_.push_back({Seconds(0), seconds + run.compute - ready_at(0)});
}

// Of ZeRO 1 and 2: the updated weights, once a step. Beside the next forward, bucket by bucket, the first of
// n is waited for, and what (n-1)/n of the forward does not hide of the others; the two slow each other down.
Seconds Evaluator::parameter_gather(const Plan& plan, const Network& network, std::size_t rank,
                                    const Placement& placement) const {
  const double elements = static_cast<double>(stage_parts_[rank].share.elements);
  const Seconds whole = network
                            .cost({CollectiveKind::kAllGather, GroupKind::kShard,
                                   Bytes(elements * bytes_of(plan.precision)), true})
                            .seconds;
  if (!plan.overlap_param_gather.value_or(stack_.overlap_param_gather) || stack_.bucket_elements == 0)
    return whole;
  Seconds forward;
  double units = 0;
  for (std::int64_t c = 0; c < placement.chunks; ++c) {
    const auto n = static_cast<std::size_t>(placement.node(static_cast<std::int64_t>(rank), c));
    forward += AtClock(chunk_parts_[n].cost->forward, stretch_of(placement, n)).duration();
    units += static_cast<double>(chunk_parts_[n].cost->backward.ready_before_end.size());
  }
  const double buckets = std::clamp(std::ceil(elements / static_cast<double>(stack_.bucket_elements)), 1.0,
                                    std::max(units, 1.0));
  const Seconds rest = whole * (1 - 1 / buckets), window = forward * (1 - 1 / buckets);
  const Beside run = beside(window, rest);
  return whole - rest + std::max(run.compute, rest + collective_delay(rest, run.both)) - window;
}

Evaluator::ShapeKey Evaluator::shape_key(const Plan& plan, const Network& network,
                                         std::int64_t micro_batches) const {
  const ScheduleKind schedule = plan.effective_schedule();
  ShapeKey key;
  key.choices = choices_of(model_, plan, stack_, seq_, micro_batches > 1);
  if (plan.pp > 1 && network.placed(GroupKind::kPipeline).crosses_nodes())
    key.choices.calls_beside_messages = stack_.calls_beside_messages * plan.tp;
  key.tensor = network.placed(GroupKind::kTensor);
  if (key.choices.units.scatters) {
    key.shard = network.placed(GroupKind::kShard);
    key.replica = network.placed(GroupKind::kReplica);
  }
  key.drained = plan.pp > 1 && stack_.p2p_blocking;
  key.ends_together = plan.pp == 1 || lies_in_v(schedule);
  key.split = splits_backward(schedule);
  return key;
}

// The chunks of every rank and the states that they bring, in bytes. No pass is laid out yet.
void Evaluator::place(const Plan& plan, std::int64_t global_batch, Evaluation& out) {
  const auto& layers = layers_of(plan);
  const Network& network = network_of(plan);
  const Placement placement{plan.effective_schedule(), plan.pp, plan.chunks_per_stage()};
  const auto nodes = static_cast<std::size_t>(placement.nodes()), ranks = static_cast<std::size_t>(plan.pp);
  out = Evaluation{};
  out.plan = &plan;
  out.placement = placement;
  out.micro_batches = global_batch / (plan.dp * plan.micro_batch);
  out.per_chunk = runs_both_ways(placement.kind) ? out.micro_batches / 2 : out.micro_batches;
  use_shape(shape_key(plan, network, out.micro_batches));

  chunk_parts_.assign(nodes, ChunkParts{});
  loads_.assign(nodes, ChunkLoad{});
  for (std::size_t n = 0; n < nodes; ++n) {
    const auto node = static_cast<std::int64_t>(n);
    ChunkCost& cost = chunk_bytes({layers[n % layers.size()], placement.first(node), placement.last(node)});
    chunk_parts_[n].cost = &cost;
    ChunkLoad& load = loads_[n];
    load.held = cost.bytes.held;
    load.held_for_weight = cost.bytes.held_for_weight;
    load.forward_extra = cost.bytes.forward_extra;
    load.backward_extra = cost.bytes.backward_extra;
    load.weight_extra = cost.bytes.weight_extra;
    load.backward_end = cost.bytes.backward_end;
  }

  const StateChoices states = state_choices(plan, stack_);
  stage_parts_.assign(ranks, StageParts{});
  for (std::size_t r = 0; r < ranks; ++r) {
    StageParts& part = stage_parts_[r];
    for (std::int64_t c = 0; c < placement.chunks; ++c) {
      const auto n = static_cast<std::size_t>(placement.node(static_cast<std::int64_t>(r), c));
      const ParameterShare& share = chunk_parts_[n].cost->share;
      part.share.elements += share.elements;
      part.share.tensors += share.tensors;
      part.share.embedding_elements += share.embedding_elements;
      part.share.matrix_elements += share.matrix_elements;
      part.share.largest_matrix = std::max(part.share.largest_matrix, share.largest_matrix);
      part.share.largest_tensor = std::max(part.share.largest_tensor, share.largest_tensor);
    }
    if (r > 0 && part.share == stage_parts_[r - 1].share)
      part.states = stage_parts_[r - 1].states;
    else
      part.states = state_bytes(part.share, stack_, states);
  }

  PipelineWork& pipeline = out.pipeline;
  pipeline.chunks = loads_;
  pipeline.chunks_per_rank = placement.chunks;
  pipeline.micro_batches = out.micro_batches;
  pipeline.schedule = placement.kind;
  pipeline.blocking_sends = stack_.p2p_blocking;
  pipeline.blocking_receives = stack_.p2p_serial;
  pipeline.reduce_beside = plan.overlap_grad_reduce.value_or(stack_.overlap_grad_reduce);
}

// The worst stage, of what has been placed.
void Evaluator::add_bytes(Evaluation& e) {
  const Plan& plan = *e.plan;
  timeline_.measure(e.pipeline);
  const Bytes outside = outside_torch(plan);
  const auto times = timeline_.stages();
  for (std::size_t r = 0; r < stage_parts_.size(); ++r) {
    StageParts& part = stage_parts_[r];
    PassesPeak passes{times[r].peak, Bytes(0)};
    for (std::int64_t c = 0; c < e.placement.chunks; ++c) {
      const auto n = static_cast<std::size_t>(e.placement.node(static_cast<std::int64_t>(r), c));
      passes.largest_block = std::max(passes.largest_block, chunk_parts_[n].cost->bytes.largest_block);
    }
    const Bytes gradient(static_cast<double>(part.share.largest_tensor) * bytes_of(plan.precision));
    part.memory = memory_counters(part.states, passes, gradient, stack_, e.micro_batches, outside);
    if (part.memory.needed > stage_parts_[e.worst_stage].memory.needed) e.worst_stage = r;
  }
}

// What passes, messages, reductions and updates take.
void Evaluator::add_times(Evaluation& e) {
  const Plan& plan = *e.plan;
  const Network& network = network_of(plan);
  const Placement& placement = e.placement;
  const std::size_t nodes = chunk_parts_.size(), ranks = stage_parts_.size();
  const Choices& choices = shape_->first.choices;
  const UpdateFormat format = update_format(plan, stack_);
  const Dtype reduce_dtype = reduction_dtype(plan, stack_);
  const bool sharded = plan.zero >= 1 && plan.shards() > 1;
  const bool gathers_by_step =
      sharded && (plan.zero == 1 || (plan.zero == 2 && stack_.zero2_gather == Zero2Gather::kStep));

  // Messages between chunks.
  const double activation =
      static_cast<double>(plan.micro_batch * seq_ * model_.hidden) * bytes_of(plan.precision);
  const bool scattered = choices.sp || (stack_.p2p_scatter_gather && plan.tp > 1);
  const Bytes message(activation / (scattered ? static_cast<double>(plan.tp) : 1.0));
  const Bytes mask(stack_.p2p_sends_mask ? static_cast<double>(seq_ * seq_) * bytes_of(plan.precision) : 0.0);
  Seconds gather(0);
  if (stack_.p2p_scatter_gather && !choices.sp && plan.tp > 1)
    gather = network.cost({CollectiveKind::kAllGather, GroupKind::kTensor, Bytes(activation)}).seconds;
  // Of the slowest boundary, for which the others wait.
  e.send_spread = network.cost({CollectiveKind::kSendReceive, GroupKind::kPipeline, message}).spread;
  // From a node's rank to that of the next or the one before; interleaved chunks go round from the last rank
  // to the first. Boundaries inside a domain are alike, and so are those that cross one.
  struct Sends {
    Bytes bytes;
    std::optional<Seconds> inside, across, round;
  };
  Sends down{message + mask}, up{message};
  const auto send = [&](std::int64_t from, std::int64_t to, Sends& known) {
    const std::int64_t a = placement.rank(from), b = placement.rank(to);
    if (a == b) return Seconds(0);
    if (std::abs(a - b) != 1) {
      if (!known.round)
        known.round =
            network.cost({CollectiveKind::kSendReceive, GroupKind::kEmbedding, known.bytes}).seconds;
      return *known.round + gather;
    }
    auto& seconds = network.crosses(std::min(a, b)) ? known.across : known.inside;
    if (!seconds) seconds = network.send(std::min(a, b), known.bytes).seconds;
    return *seconds + gather;
  };

  for (const ChunkParts& part : chunk_parts_) lay_out_chunk(*part.cost, network);
  for (std::size_t r = 0; r < ranks; ++r) {
    StageParts& part = stage_parts_[r];
    const ParameterShare& share = part.share;
    if (r > 0 && share == stage_parts_[r - 1].share) {
      part.optimizer = stage_parts_[r - 1].optimizer;
      continue;
    }
    const std::int64_t shards = plan.shards();
    const std::int64_t owned = sharded ? (share.elements + shards - 1) / shards : share.elements;
    const std::int64_t gradients = plan.zero >= 2 ? owned : share.elements;  // that it keeps
    part.optimizer = &optimizer_cost({gradients, owned, share.tensors, format}, network);
  }
  settle_clocks(placement, e.per_chunk, e.micro_batches);

  buckets_.clear();
  const bool reduces = (plan.dp * plan.cp > 1 && !choices.units.scatters) || runs_both_ways(placement.kind);
  for (std::size_t n = 0; n < nodes; ++n) {
    ChunkParts& part = chunk_parts_[n];
    const double stretch = stretch_of(placement, n);
    for (std::size_t before = n; before-- > 0 && n - before < kNearChunks;)
      if (chunk_parts_[before].cost == part.cost && stretch_of(placement, before) == stretch) {
        part = chunk_parts_[before];
        break;
      }
    if (part.bucket_count > 0) continue;
    part.first_bucket = buckets_.size();
    if (reduces)
      make_buckets(*part.cost, stretch, network,
                   Bytes(static_cast<double>(part.cost->share.elements) * bytes_of(reduce_dtype)), plan);
    part.bucket_count = buckets_.size() - part.first_bucket;
  }
  for (std::size_t n = 0; n < nodes; ++n) {
    const ChunkParts& part = chunk_parts_[n];
    const ChunkCost& cost = *part.cost;
    const auto node = static_cast<std::int64_t>(n);
    const double stretch = stretch_of(placement, n);
    ChunkLoad& load = loads_[n];
    load.forward = AtClock(cost.forward, stretch).duration();
    load.backward = AtClock(cost.backward, stretch).duration();
    load.input = AtClock(cost.input, stretch).duration();
    load.weight = AtClock(cost.weight, stretch).duration();
    if (!placement.last(node)) load.send_forward = send(node, node + 1, down);
    if (!placement.first(node)) load.send_backward = send(node, node - 1, up);
    load.buckets = {buckets_.data() + part.first_bucket, part.bucket_count};
  }

  updates_.assign(ranks, StageUpdate{});
  for (std::size_t r = 0; r < ranks; ++r) {
    const StageParts& part = stage_parts_[r];
    if (r > 0 && part.share == stage_parts_[r - 1].share && part.stretch == stage_parts_[r - 1].stretch) {
      updates_[r] = updates_[r - 1];
      continue;
    }
    updates_[r].optimizer = AtClock(*part.optimizer, part.stretch).duration();
    if (gathers_by_step) updates_[r].gather = parameter_gather(plan, network, r, placement);
  }

  PipelineWork& pipeline = e.pipeline;
  pipeline.updates = updates_;
  if (const std::int64_t shared = stage_parts_.front().share.embedding_elements; shared > 0)
    pipeline.embedding_exchange = network
                                      .cost({CollectiveKind::kAllReduce, GroupKind::kEmbedding,
                                             Bytes(static_cast<double>(shared) * bytes_of(reduce_dtype))})
                                      .seconds;
  // The gradient norm (and, with fp16, whether it overflowed): one number over all ranks of a model.
  pipeline.meet = network.cost({CollectiveKind::kAllReduce, GroupKind::kModel, Bytes(8)}).seconds;
  if (plan.dp * plan.cp > 1)
    e.reduce_spread =
        network
            .cost({CollectiveKind::kAllReduce, GroupKind::kData,
                   Bytes(static_cast<double>(stage_parts_.front().share.elements) * bytes_of(reduce_dtype))})
            .spread;
  e.has_times = true;
}

void Evaluator::evaluate(const Plan& plan, std::int64_t global_batch, Evaluation& out) {
  place(plan, global_batch, out);
  add_bytes(out);
  add_times(out);
  out.step = timeline_.simulate(out.pipeline);
  const auto times = timeline_.stages();
  for (std::size_t r = 0; r < times.size(); ++r)
    if (times[r].compute + times[r].sending > times[out.busiest].compute + times[out.busiest].sending)
      out.busiest = r;
  out.spread = relative_spread(uncertainty(out), out.step);
}

Bytes Evaluator::weigh(const Plan& plan, std::int64_t global_batch) {
  place(plan, global_batch, current_);
  add_bytes(current_);
  return stage_parts_[current_.worst_stage].memory.needed;
}

PlanFloor Evaluator::floor(const Plan& plan, std::int64_t global_batch) {
  const std::int64_t micro_batches = global_batch / (plan.dp * plan.micro_batch);
  const Network& network = network_of(plan);
  ShapeKey key = shape_key(plan, network, micro_batches);
  // Which stages have layers that are not run again hangs on the split: at least, none is.
  if (key.choices.recompute_layers > 0) {
    key.choices.recompute = Recompute::kNone;
    key.choices.recompute_layers = 0;  // one floor serves all their numbers
  }
  use_shape(key);
  const auto seconds = [&](const Chunk& chunk) {
    ChunkCost& cost = chunk_bytes(chunk);
    lay_out_chunk(cost, network);
    Seconds sum;
    for (const Segment* segment : {&cost.forward, &cost.backward}) {
      for (const Cause cause : {Cause::kForward, Cause::kBackward, Cause::kRecompute})
        sum += segment->by_cause[static_cast<std::size_t>(cause)];
      if (stack_.tp_blocking) sum += segment->by_cause[static_cast<std::size_t>(Cause::kTensorParallel)];
    }
    return sum;
  };
  const std::int64_t layers = model_.layers();
  const Seconds layer = seconds({1, false, false});
  const Seconds all =
      layer * static_cast<double>(layers) + seconds({0, true, false}) + seconds({0, false, true});
  // Some stage has as many layers as an even split gives, and some stage as much work as the average. Of
  // dualpipe's two copies of the model a stage runs half the micro-batches each.
  const std::int64_t copies = runs_both_ways(plan.effective_schedule()) ? 2 : 1;
  const Seconds fullest =
      layer * (static_cast<double>((copies * layers + plan.pp - 1) / plan.pp) / static_cast<double>(copies));
  // Likewise of parameters, a tied head counted once.
  ParameterShare share = parameter_share(model_, stack_, plan.tp, {layers, true, true}, true);
  share.elements /= plan.pp;
  const StateBytes states = state_bytes(share, stack_, state_choices(plan, stack_));
  return {std::max(fullest, all / static_cast<double>(plan.pp)) *
              (static_cast<double>(micro_batches) * kBelowRounding),
          std::max(states.total(), layers_floor(plan, key, micro_batches)) * kBelowRounding};
}

// The least that the worst stage holds, however layers are dealt over stages. A stage of l layers, with n
// micro-batches in flight and N layers of each of its v chunks run again, holds at least
//   l (S + n H) - n v N D
// by a layer's states S, what its forward keeps H, and D less of it where it is run again. As all l sum to L,
//   peak >= (L - sum over stages n v N D / (S + n H)) / (sum over stages 1 / (S + n H))
Bytes Evaluator::layers_floor(const Plan& plan, ShapeKey key, std::int64_t micro_batches) {
  const auto held = [&](Recompute recompute) {
    key.choices.recompute = recompute;
    key.choices.recompute_layers = 0;
    use_shape(key);
    return chunk_bytes({1, false, false}).bytes.held.value;
  };
  const bool some = plan.recompute == Recompute::kFull && plan.recompute_layers > 0;
  const double kept = held(some ? Recompute::kNone : plan.recompute);
  const double less = some ? static_cast<double>(plan.recompute_layers * plan.chunks_per_stage()) *
                                 (kept - held(Recompute::kFull))
                           : 0.0;
  const auto layers = static_cast<double>(model_.layers());
  const ParameterShare share =
      parameter_share(model_, stack_, plan.tp, {model_.layers(), false, false}, true);
  const StateBytes states = state_bytes(share, stack_, state_choices(plan, stack_));
  const double state = (states.total() - states.gradients).value / layers;
  double left = layers, stages = 0;
  for (std::int64_t r = 0; r < plan.pp; ++r) {
    const auto n = static_cast<double>(least_in_flight(plan.effective_schedule(), r, plan.pp, micro_batches));
    left -= n * less / (state + n * kept);
    stages += 1 / (state + n * kept);
  }
  return Bytes(std::max(0.0, left / stages));
}

Seconds Evaluator::at_least() {
  if (!current_.has_times) add_times(current_);
  return current_.step = timeline_.least(current_.pipeline) * kBelowRounding;
}

TimedStep Evaluator::timed(bool exactly) {
  if (!current_.has_times) add_times(current_);
  const PipelineWork& work = current_.pipeline;
  const std::int64_t passes =
      2 * static_cast<std::int64_t>(work.chunks.size()) * work.micro_batches_per_chunk();
  if (!exactly && passes > kFewPasses) {
    const Seconds least = timeline_.least(work) * kBelowRounding;
    if (timeline_.most(work) <= least * (1 + kClosedFormError)) {
      current_.step = least;
      return {least, false};
    }
  }
  current_.step = timeline_.simulate(work);
  return {current_.step, true};
}

double Evaluator::joules() {
  CHECK_THAT(current_.has_times);
  double sum = 0;
  const PowerModel* power = costs_.power();
  const double waiting_w = power ? power->static_w : cluster_.gpu.power_cap_w * kWaitPowerShare;
  for (std::size_t r = 0; r < stage_parts_.size(); ++r) {
    Seconds busy;  // in operators and collectives
    const auto add_joules = [&](const Segment& segment, double times) {
      const AtClock at(segment, stage_parts_[r].stretch);
      // Compute and a collective at once would draw more than the cap, which the GPU does not.
      sum += std::min(at.joules(power), at.duration().value * cluster_.gpu.power_cap_w) * times;
      busy += (at.duration() - at.by_cause(static_cast<std::size_t>(Cause::kLaunch))) * times;
    };
    for (std::int64_t c = 0; c < current_.placement.chunks; ++c) {
      const auto n = static_cast<std::size_t>(current_.placement.node(static_cast<std::int64_t>(r), c));
      for (const Segment* segment : {&chunk_parts_[n].cost->forward, &chunk_parts_[n].cost->backward})
        add_joules(*segment, static_cast<double>(current_.per_chunk));
    }
    add_joules(*stage_parts_[r].optimizer, 1);
    sum += std::max(0.0, (current_.step - busy).value) * waiting_w;
  }
  const Plan& plan = *current_.plan;
  return sum * static_cast<double>(plan.tp * plan.cp * plan.dp);
}

// A rank's load is a step of its passes and its update. It waits while it fills and drains the pipeline, and
// for the slowest rank; collectives between steps are left out. Energy of collectives inside passes counts at
// their own power.
void Evaluator::settle_clocks(const Placement& placement, std::int64_t per_chunk,
                              std::int64_t micro_batches) {
  const PowerModel* power = costs_.power();
  if (power == nullptr) return;
  const double highest = std::min(cluster_.gpu.clock_max_mhz / power->reference_mhz, 1.0);
  const bool split = splits_backward(placement.kind);
  const auto micro_batch_of = [&](std::size_t rank) {
    Seconds sum;
    for (std::int64_t c = 0; c < placement.chunks; ++c) {
      const auto n = static_cast<std::size_t>(placement.node(static_cast<std::int64_t>(rank), c));
      sum += chunk_parts_[n].cost->forward.duration + chunk_parts_[n].cost->backward.duration;
    }
    return sum;
  };
  Seconds slowest;
  for (std::size_t r = 0; r < stage_parts_.size(); ++r) slowest = std::max(slowest, micro_batch_of(r));
  const double pipeline = static_cast<double>(micro_batches) + static_cast<double>(stage_parts_.size() - 1) /
                                                                   static_cast<double>(placement.chunks);
  for (std::size_t r = 0; r < stage_parts_.size(); ++r) {
    StageParts& part = stage_parts_[r];
    PowerLoad load;
    bool as_before = r > 0 && part.optimizer == stage_parts_[r - 1].optimizer;
    for (std::int64_t c = 0; c < placement.chunks; ++c) {
      const auto n = static_cast<std::size_t>(placement.node(static_cast<std::int64_t>(r), c));
      const ChunkCost& cost = *chunk_parts_[n].cost;
      const double times = static_cast<double>(per_chunk);
      add(load, cost.forward, times);
      if (split) {
        add(load, cost.input, times);
        add(load, cost.weight, times);
      } else {
        add(load, cost.backward, times);
      }
      if (r > 0)
        as_before =
            as_before &&
            chunk_parts_[static_cast<std::size_t>(placement.node(static_cast<std::int64_t>(r) - 1, c))]
                    .cost == &cost;
    }
    if (as_before) {  // inner ranks of equal chunks
      part.stretch = stage_parts_[r - 1].stretch;
      continue;
    }
    add(load, *part.optimizer, 1);
    load.idle +=
        std::max(slowest * pipeline - micro_batch_of(r) * static_cast<double>(micro_batches), Seconds(0));
    part.stretch = 1 / settled_clock(load, *power, cluster_.gpu.power_cap_w, highest);
  }
}

template <class Visit>
void Evaluator::for_each_segment(const Evaluation& e, std::size_t rank, Visit visit) const {
  for (std::int64_t c = 0; c < e.placement.chunks; ++c) {
    const auto n = static_cast<std::size_t>(e.placement.node(static_cast<std::int64_t>(rank), c));
    const ChunkCost& cost = *chunk_parts_[n].cost;
    const ChunkCounts& counts = timeline_.chunks()[n];
    const auto at_clock = [&](const Segment& segment, auto times) {
      visit(AtClock(segment, stage_parts_[rank].stretch), static_cast<double>(times));
    };
    at_clock(cost.forward, e.per_chunk);
    if (counts.whole > 0) at_clock(cost.backward, counts.whole);
    if (counts.split > 0) at_clock(cost.input, counts.split);
    if (counts.split > 0) at_clock(cost.weight, counts.split);
  }
}

Uncertainty Evaluator::uncertainty(const Evaluation& e) const {
  const StageParts& part = stage_parts_[e.busiest];
  const StageTimes& times = timeline_.stages()[e.busiest];
  // The bubble is made of the same passes: it is as uncertain as they are.
  const double stretch =
      times.compute > Seconds(0) ? (times.pipeline_end - times.sending) / times.compute : 1.0;
  Uncertainty u;
  const Plan& plan = *e.plan;
  u.composition = plan.tp * plan.cp * plan.dp * plan.pp > 1 ? kComposition : kPassComposition;
  for_each_segment(e, e.busiest, [&](const AtClock& segment, double n) {
    for (std::size_t k = 0; k < kOperatorKindCount; ++k) u.operators[k] += segment.uncertain(k) * n;
    u.collectives += segment.uncertain_collectives() * n;
    u.launches += segment.by_cause(static_cast<std::size_t>(Cause::kLaunch)) * n;
  });
  const AtClock optimizer(*part.optimizer, part.stretch);
  for (std::size_t k = 0; k < kOperatorKindCount; ++k)
    u.operators[k] = u.operators[k] * stretch + optimizer.uncertain(k);
  u.collectives *= stretch;
  u.launches *= stretch * kLaunchSpread;
  u.sends = times.sending * e.send_spread;
  u.reductions = (times.reduce_end - times.pipeline_end + updates_[e.busiest].gather) * e.reduce_spread;
  return u;
}

// What the passes' peak of a rank consists of.
void Evaluator::describe_peak(const Evaluation& e, std::size_t rank, StagePrediction& stage) const {
  const StageTimes& times = timeline_.stages()[rank];
  stage.moment = times.moment;
  Bytes rest = times.peak;
  for (std::int64_t c = 0; c < e.placement.chunks; ++c) {
    const auto n = static_cast<std::size_t>(e.placement.node(static_cast<std::int64_t>(rank), c));
    const PassBytes& bytes = chunk_parts_[n].cost->bytes;
    const auto held = static_cast<double>(timeline_.held_at_peak()[n]);
    for (std::size_t k = 0; k < kOperatorKindCount; ++k) stage.saved[k] += bytes.saved[k] * held;
    const Bytes waiting = bytes.held_for_weight * static_cast<double>(timeline_.waiting_at_peak()[n]);
    stage.waiting += waiting;
    rest -= bytes.held * held + waiting;
  }
  if (!times.moment.at_end) {
    const PassBytes& bytes = chunk_parts_[static_cast<std::size_t>(times.moment.node)].cost->bytes;
    stage.gathered = std::min(rest, bytes.gathered);
    stage.shared_buffers = std::min(rest - stage.gathered, bytes.shared_buffers);
  }
  stage.working = std::max(Bytes(0), rest - stage.gathered - stage.shared_buffers);
  stage.peak_in_step = stage.states.total() + stage.states.in_step() >= stage.memory.allocated;
}

Score Evaluator::score(const Plan& plan, std::int64_t global_batch) {
  Evaluation e;
  evaluate(plan, global_batch, e);
  const MemoryCounters& memory = stage_parts_[e.worst_stage].memory;
  return {e.step, e.spread, memory.total, memory.needed,
          fit_probability(memory.needed, cluster_.gpu.usable) >= kFitsFrom};
}

void Evaluator::record(const Evaluation& e, StepTrace& trace) {
  trace.placement = e.placement;
  trace.micro_batches = e.micro_batches;
  trace.blocking_sends = e.pipeline.blocking_sends;
  trace.step = timeline_.simulate(e.pipeline, &trace.events);
  trace.chunks.clear();
  for (std::size_t n = 0; n < chunk_parts_.size(); ++n) {
    const ChunkCost& cost = *chunk_parts_[n].cost;
    const ChunkLoad& load = e.pipeline.chunks[n];
    TracedChunk& chunk = trace.chunks.emplace_back();
    const double stretch = stretch_of(e.placement, n);
    const auto causes = [&](const Segment& segment) {
      const AtClock at(segment, stretch);
      std::array<Seconds, kCauseCount> by_cause;
      for (std::size_t i = 0; i < by_cause.size(); ++i) by_cause[i] = at.by_cause(i);
      return by_cause;
    };
    chunk.by_cause = {causes(cost.forward), causes(cost.backward), causes(cost.input), causes(cost.weight)};
    chunk.held = load.held;
    chunk.held_for_weight = load.held_for_weight;
    chunk.forward_extra = load.forward_extra;
    chunk.backward_extra = std::max(load.backward_extra, load.backward_end - load.held);
    chunk.input_extra = load.backward_extra;
    chunk.weight_extra = std::max(load.weight_extra, load.backward_end - load.held_for_weight);
  }
  trace.states.clear();
  for (const StageParts& part : stage_parts_) trace.states.push_back(part.states);
  trace.lazy_gradients = stack_.lazy_gradients && e.micro_batches == 1;
}

Prediction Evaluator::predict(const Plan& plan, std::int64_t global_batch, StepTrace* trace) {
  Evaluation e;
  evaluate(plan, global_batch, e);
  const double gpus = static_cast<double>(plan.tp * plan.pp * plan.dp * plan.cp);
  const auto times = timeline_.stages();
  const auto& layers = layers_of(plan);

  Prediction p;
  p.step = {e.step.value, e.spread, Origin::kAnalytic};
  p.typical = e.step;
  p.uncertain = uncertainty(e);
  if (cluster_.jitter) {
    const auto nodes =
        (static_cast<std::int64_t>(gpus) + cluster_.gpus_per_node - 1) / cluster_.gpus_per_node;
    Timeline drawn;  // ours still holds the undisturbed step
    p.jitter = drawn_steps(e.pipeline, e.step, *cluster_.jitter, nodes, plan.tp * plan.cp * plan.dp, drawn);
    p.typical = p.jitter->median;
  }
  p.tokens_per_s_per_gpu = static_cast<double>(global_batch * seq_) / (e.step.value * gpus);
  p.params = parameters(model_);
  p.usable = cluster_.gpu.usable;
  const MemoryCounters& worst = stage_parts_[e.worst_stage].memory;
  p.peak = worst.total;
  p.peak_reserved = worst.reserved;
  p.peak_allocated = worst.allocated;
  p.needed = worst.needed;
  p.worst_stage = static_cast<std::int64_t>(e.worst_stage);
  p.fit_probability = fit_probability(p.needed, p.usable);
  p.fits = p.fit_probability >= kFitsFrom;
  p.busiest_stage = static_cast<std::int64_t>(e.busiest);

  const auto cause = [&](StepCause which) -> Seconds& {
    return p.breakdown[static_cast<std::size_t>(which)];
  };
  const StageParts& busiest = stage_parts_[e.busiest];
  const StageTimes& t = times[e.busiest];
  for_each_segment(e, e.busiest, [&](const AtClock& segment, double n) {
    // The first causes of a step are those of a segment, in the same order.
    for (std::size_t i = 0; i < kCauseCount; ++i) p.breakdown[i] += segment.by_cause(i) * n;
    for (std::size_t i = 0; i < kOperatorKindCount; ++i) p.operators[i] += segment.by_operator(i) * n;
    for (std::size_t i = 0; i < kOriginCount; ++i) p.origin_shares[i] += segment.by_origin(i).value * n;
  });
  const AtClock optimizer(*busiest.optimizer, busiest.stretch);
  for (std::size_t i = 0; i < kOperatorKindCount; ++i) p.operators[i] += optimizer.by_operator(i);
  for (std::size_t i = 0; i < kOriginCount; ++i) p.origin_shares[i] += optimizer.by_origin(i).value;
  cause(StepCause::kPipelineSend) = t.sending;
  cause(StepCause::kBubble) = t.pipeline_end - t.compute - t.sending;
  cause(StepCause::kGradientReduce) = t.reduce_end - t.pipeline_end;
  cause(StepCause::kOptimizer) = optimizer.duration();
  cause(StepCause::kParameterGather) = updates_[e.busiest].gather;
  cause(StepCause::kEmbeddingExchange) = t.exchange;
  Seconds known;
  for (Seconds& s : p.breakdown) known += s = std::max(Seconds(0), s);  // differences round below zero
  cause(StepCause::kStageWait) = std::max(Seconds(0), e.step - known);
  double origin_sum = 0;
  for (const double share : p.origin_shares) origin_sum += share;
  const auto origin_add = [&](Seconds s) {
    p.origin_shares[static_cast<std::size_t>(Origin::kAnalytic)] += s.value, origin_sum += s.value;
  };
  origin_add(t.sending + cause(StepCause::kGradientReduce) + cause(StepCause::kParameterGather));
  for (double& share : p.origin_shares) share /= origin_sum > 0 ? origin_sum : 1;

  Flops useful;
  for (std::size_t r = 0; r < stage_parts_.size(); ++r) {
    const StageParts& part = stage_parts_[r];
    StagePrediction stage;
    for (std::int64_t c = 0; c < e.placement.chunks; ++c) {
      const auto n = static_cast<std::size_t>(e.placement.node(static_cast<std::int64_t>(r), c));
      const ChunkCost& cost = *chunk_parts_[n].cost;
      useful += cost.model_flops * static_cast<double>(e.per_chunk);
      stage.layers += layers[n % layers.size()];
      const auto duration = [&](const Segment& segment) { return AtClock(segment, part.stretch).duration(); };
      stage.forward += duration(cost.forward);
      stage.backward += timeline_.chunks()[n].whole > 0 ? duration(cost.backward)
                                                        : duration(cost.input) + duration(cost.weight);
    }
    if (costs_.power() != nullptr) stage.clock_mhz = costs_.power()->reference_mhz / part.stretch;
    stage.parameters = part.share.elements;
    stage.busy = times[r].compute + times[r].sending;
    stage.idle = times[r].pipeline_end - stage.busy;
    stage.in_flight = times[r].in_flight;
    stage.states = part.states;
    stage.activations = times[r].peak;
    stage.memory = part.memory;
    describe_peak(e, r, stage);
    p.stages.push_back(stage);
  }
  p.mfu = useful.value * static_cast<double>(plan.tp * plan.dp * plan.cp) /
          (e.step.value * gpus * cluster_.gpu.rate(plan.precision).value);
  if (trace != nullptr) record(e, *trace);
  return p;
}

Prediction predict(const Run& run, std::shared_ptr<const CostSource> costs, StepTrace* trace) {
  Evaluator evaluator(run.model, run.cluster, run.stack, run.seq, std::move(costs));
  Prediction prediction = evaluator.predict(run.plan, run.global_batch, trace);
  prediction.assumed = run.assumed;
  if (!prediction.fits) prediction.would_fit = nearest_fitting(run, evaluator);
  return prediction;
}

}  // namespace foretrain
