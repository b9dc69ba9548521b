#include "predict/reductions.h"

#include <algorithm>
#include <cmath>

#include "segment/contention.h"

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
  std::int64_t count = 1;
  if (choices.overlap_grad_reduce && setting.stack.data_parallel.bucket_elements > 0)
    count = static_cast<std::int64_t>(
        std::ceil(elements / static_cast<double>(setting.stack.data_parallel.bucket_elements)));
  // Buckets close at layer ends; more of them than layers only adds latency. They are taken to be of equal size,
  // as layers of one kind are.
  count =
      std::clamp<std::int64_t>(count, 1, std::max<std::int64_t>(1, static_cast<std::int64_t>(ready.size())));
  if (in_passes) count = 1;
  NetworkTime bucket;
  const auto add = [&](const Collective& collective) { bucket += NetworkTime(network.cost(collective)); };
  for (const WeightClass weights : kWeightClasses) {
    const std::int64_t elements_of_class = cost.share.of(weights).elements;
    if (in_passes || (weights == WeightClass::kExperts && elements_of_class == 0)) continue;
    const WeightGroups groups = groups_of(weights);
    const Bytes share = Bytes(static_cast<double>(elements_of_class) * bytes_of(choices.reduce_dtype)) /
                        static_cast<double>(count);
    if (sharding.reduces_to_shard) {  // to shards, which copies of the model then sum
      add({CollectiveKind::kReduceScatter, groups.shard, share, true});
      add({CollectiveKind::kAllReduce, groups.replica, share / static_cast<double>(sharding.shards[weights]),
           true});
    } else {
      add({CollectiveKind::kAllReduce, groups.data, share, true});
    }
  }
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
  const Beside run = beside(ready_at(0), queue);
  const Seconds each = seconds + collective_delay(queue, run.both) / static_cast<double>(count - 1);
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

}  // namespace

NetworkTime parameter_gather(const Setting& setting, const Timed& e, const Network& network,
                             std::size_t rank) {
  const Choices& choices = e.job.choices;
  const double elements = static_cast<double>(e.stages[rank].share.elements);
  NetworkTime gather;
  for (const WeightClass weights : kWeightClasses)
    if (const WeightShare share = e.stages[rank].share.of(weights);
        share.elements > 0 || weights == WeightClass::kCommon)
      gather += NetworkTime(network.cost(
          {CollectiveKind::kAllGather, groups_of(weights).shard, travelling_bytes(share, choices), true}));
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
  const Beside run = beside(window, rest);
  return gather.waited_for(whole - rest + std::max(run.compute, rest + collective_delay(rest, run.both)) -
                           window);
}

}  // namespace foretrain
