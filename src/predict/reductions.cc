#include "predict/reductions.h"

#include <algorithm>
#include <cmath>

#include "segment/contention.h"
#include "workload/parameter_share.h"

namespace foretrain {

NetworkTime add_buckets(const Setting& setting, const Job& job, const ChunkCost& cost, double stretch,
                        const Network& network, std::vector<Bucket>& buckets) {
  const Choices& choices = job.choices;
  const Sharding& sharding = choices.sharding;
  const bool in_passes = sharding.units.scatters;  // reduced unit by unit already
  // Gradients are complete in the last pass to weights. (Of dualpipe a chunk may end with a whole backward,
  // in which they are complete sooner; that is left out.)
  const bool split = splits_backward(job.pipeline.schedule);
  const Segment& last = split ? cost.weight : cost.backward;
  const auto& ready = last.ready_before_end;
  const double longer = AtClock(last, stretch).longer();
  const double elements = static_cast<double>(cost.share.elements);
  double buckets_in_all = 1;
  if (choices.overlap_grad_reduce && setting.stack.data_parallel.bucket_elements > 0 && !in_passes)
    buckets_in_all =
        std::max(1.0, std::ceil(elements / static_cast<double>(setting.stack.data_parallel.bucket_elements)));
  // Buckets close at layer ends: those of one layer are ready together, and are reduced one after the other. They are
  // taken to be of equal size, as layers of one kind are.
  const std::int64_t count = std::min(static_cast<std::int64_t>(buckets_in_all),
                                      std::max<std::int64_t>(1, static_cast<std::int64_t>(ready.size())));
  const double at_once = buckets_in_all / static_cast<double>(count);
  NetworkTime bucket;
  const auto add = [&](const Collective& collective) { bucket += NetworkTime(network.cost(collective)); };
  for (const WeightClass weights : kWeightClasses) {
    const std::int64_t elements_of_class = cost.share.of(weights).elements;
    if (in_passes || (weights == WeightClass::kExperts && elements_of_class == 0)) continue;
    const WeightGroups groups = groups_of(weights);
    const Bytes share =
        Bytes(static_cast<double>(elements_of_class) * bytes_of(choices.reduce_dtype)) / buckets_in_all;
    if (sharding.reduces_to_shard) {  // to shards, which copies of the model then sum
      add({CollectiveKind::kReduceScatter, groups.shard, share, true});
      add({CollectiveKind::kAllReduce, groups.replica, share / static_cast<double>(sharding.shards[weights]),
           true});
    } else {
      add({CollectiveKind::kAllReduce, groups.data, share, true});
    }
  }
  bucket = bucket * at_once;
  // Dualpipe's two copies of a chunk, on mirrored ranks, are summed too: shard by shard, in pairs like first
  // and last rank's.
  if (runs_both_ways(job.pipeline.schedule)) {
    Bytes share;
    for (const WeightClass weights : kWeightClasses)
      share += Bytes(static_cast<double>(cost.share.of(weights).elements) * bytes_of(choices.reduce_dtype)) /
               static_cast<double>(count) / static_cast<double>(job.mesh.data_ranks(weights));
    add({CollectiveKind::kAllReduce, GroupKind::kEmbedding, share});
  }
  const Seconds seconds = bucket.seconds;
  if (count == 1) {
    buckets.push_back({Seconds(0), seconds});
    return bucket;
  }
  const auto ready_at = [&](std::int64_t i) {
    const auto layers = static_cast<std::int64_t>(ready.size());
    return ready[static_cast<std::size_t>((i + 1) * layers / count) - 1] * longer;
  };
  // All buckets but the last run beside what is left of the backward: each takes longer, and the backward
  // ends later, after which the last is reduced.
  const Seconds queue = seconds * static_cast<double>(count - 1);
  const SlowDown slow = beside_collective(network.beside_scale());
  const Beside run = beside(ready_at(0), queue, slow);
  const Seconds each = seconds + collective_delay(queue, run.both, slow) / static_cast<double>(count - 1);
  for (std::int64_t i = 0; i + 1 < count; ++i) buckets.push_back({ready_at(i), each});
  buckets.push_back({Seconds(0), seconds + run.compute - ready_at(0)});
  return bucket * static_cast<double>(count);
}

namespace {

// Matrices that are kept in fewer bits may travel so.
Bytes travelling_bytes(const WeightShare& share, const Choices& choices) {
  const double all = static_cast<double>(share.elements) * bytes_of(choices.trained_dtype);
  if (!choices.low.is_narrow() || choices.adapters.frozen()) return Bytes(all);
  return Bytes(all - static_cast<double>(share.narrow_elements) *
                         (bytes_of(choices.precision) - choices.low.travelling_bytes()));
}

// What is sent for, one after the other, where shards become whole: how often, and by what.
struct Pieces {
  double count = 1;
  CollectiveKind kind = CollectiveKind::kAllGather;
};
Pieces pieces_of(const Stack& stack, std::int64_t tensors, std::int64_t shards) {
  const auto several = static_cast<double>(std::max<std::int64_t>(1, tensors));
  switch (stack.data_parallel.shard_exchange) {
    case ShardExchange::kTensor:
    case ShardExchange::kSynchronised:
      return {several, CollectiveKind::kAllGather};
    case ShardExchange::kRank:  // one that holds no tensor has nothing to send
      return {std::min(several, static_cast<double>(shards)), CollectiveKind::kBroadcast};
    case ShardExchange::kFlat:
    case ShardExchange::kTensorAndRank:
      break;
  }
  return {};
}

}  // namespace

NetworkTime parameter_gather(const Setting& setting, const Timed& e, const Network& network,
                             std::size_t rank) {
  const Choices& choices = e.job.choices;
  const double elements = static_cast<double>(e.stages[rank].share.elements);
  NetworkTime gather;
  double launches = 0;
  for (const WeightClass weights : kWeightClasses)
    if (const WeightShare share = e.stages[rank].share.of(weights);
        share.elements > 0 || weights == WeightClass::kCommon) {
      const Pieces pieces =
          pieces_of(setting.stack, e.stages[rank].share.tensors, choices.sharding.shards[weights]);
      gather += NetworkTime(network.cost({pieces.kind, groups_of(weights).shard,
                                          travelling_bytes(share, choices) / pieces.count, true})) *
                pieces.count;
      launches += pieces.count;
    }
  const Seconds issued =
      setting.cluster.host_launch * launches * static_cast<double>(1 + setting.stack.host.calls_per_shard);
  if (launches > 2 && issued > gather.seconds) gather = gather.waited_for(issued);
  const Seconds whole = gather.seconds;
  if (!choices.overlap_param_gather || setting.stack.data_parallel.bucket_elements == 0) return gather;
  Seconds forward;
  double units = 0;
  for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c) {
    const auto n = e.piece(rank, c);
    forward += AtClock(e.chunks[n]->forward, e.stretch_of(n)).duration();
    units += static_cast<double>(e.chunks[n]->backward.ready_before_end.size());
  }
  const double buckets =
      std::clamp(std::ceil(elements / static_cast<double>(setting.stack.data_parallel.bucket_elements)), 1.0,
                 std::max(units, 1.0));
  const Seconds rest = whole * (1 - 1 / buckets), window = forward * (1 - 1 / buckets);
  const SlowDown slow = beside_collective(network.beside_scale());
  const Beside run = beside(window, rest, slow);
  return gather.waited_for(whole - rest +
                           std::max(run.compute, rest + collective_delay(rest, run.both, slow)) - window);
}

NetworkTime muon_exchange(const Setting& setting, const Timed& e, const Network& network, std::size_t rank) {
  const Choices& choices = e.job.choices;
  const std::int64_t shards = choices.sharding.shards[WeightClass::kCommon];
  NetworkTime time;
  if (choices.optimizer != OptimizerKind::kMuon || choices.adapters.frozen() || choices.offload_optimizer ||
      choices.sharding.zero < 2 || shards == 1)
    return time;
  MatrixKinds all;
  for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c)
    all.add(matrices_of(setting.model, setting.stack, e.job.mesh.weight_ranks(),
                        e.chunks[e.piece(rank, c)]->chunk, WeightClass::kCommon));
  for (std::size_t i = 0; i < all.size; ++i) {
    const auto& [shorter, longer, count] = all.kinds[i];
    const Bytes matrix(static_cast<double>(shorter) * static_cast<double>(longer) * bytes_of(Dtype::kBf16));
    const auto batches = static_cast<double>((count + shards - 1) / shards);
    time += NetworkTime(network.cost({CollectiveKind::kAllToAll, GroupKind::kShard, matrix})) * (2 * batches);
  }
  return time;
}

}  // namespace foretrain
