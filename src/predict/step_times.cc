#include "predict/step_times.h"

#include "predict/clocks.h"
#include "predict/host_update.h"
#include "predict/messages.h"
#include "predict/reductions.h"
#include "workload/optimizer_step.h"

namespace foretrain {
namespace {

// Chunks of equal size are looked for among so many before: of few sizes, in turns.
constexpr std::size_t kNearChunks = 4;

// Parameters that a rank updates.
std::int64_t owned_by(const ParameterShare& share, const Sharding& sharding) {
  std::int64_t owned = 0;
  for (const WeightClass weights : kWeightClasses) {
    const std::int64_t shards = sharding.shards[weights];
    owned += (share.of(weights).elements + shards - 1) / shards;
  }
  return owned;
}

// Beside the GPU's own operators.
Seconds host_update(const Setting& setting, const Timed& e, std::size_t rank) {
  const StageParts& part = e.stages[rank];
  if (part.paged_out > Bytes(0)) return paged_update(setting.cluster, part.paged_out);
  if (!e.job.choices.offload_optimizer) return Seconds(0);
  const std::size_t last = e.piece(rank, 0);  // whose backward is a rank's last
  return offloaded_update(setting.cluster, e.job, owned_by(part.share, e.job.choices.sharding),
                          AtClock(e.chunks[last]->backward, e.paces[rank].stretch).duration());
}

// Matrices that Muon takes on a rank: of all that its chunks hold, its part, each whole.
MatrixKinds iterated_by(const Setting& setting, const Timed& e, std::size_t rank, double owned) {
  MatrixKinds all;
  for (std::int64_t c = 0; c < e.job.pipeline.chunks_per_stage; ++c)
    all.add(matrices_of(setting.model, setting.stack, e.job.mesh.weight_ranks(),
                        e.chunks[e.piece(rank, c)]->chunk));
  return all.share(owned);
}

// At the reference clock.
void add_optimizers(const Setting& setting, const Network& network, ChunkMemo& memo, Timed& e) {
  const Sharding& sharding = e.job.choices.sharding;
  const UpdateFormat format = update_format(e.job, setting.stack);
  e.paces.assign(e.stages.size(), StagePace{});
  for (std::size_t r = 0; r < e.stages.size(); ++r) {
    const ParameterShare& share = e.stages[r].share;
    if (r > 0 && share == e.stages[r - 1].share) {
      e.paces[r].optimizer = e.paces[r - 1].optimizer;
      continue;
    }
    const std::int64_t owned = owned_by(share, sharding);
    const std::int64_t gradients = sharding.zero >= 2 ? owned : share.elements;  // that it keeps
    NarrowMatrices matrices;
    if (e.job.choices.low.is_narrow() && !e.job.choices.adapters.frozen() && share.elements > 0)
      matrices = {
          share.narrow_elements,
          static_cast<std::int64_t>(static_cast<double>(share.narrow_elements) * static_cast<double>(owned) /
                                    static_cast<double>(share.elements))};
    OptimizerKey key{gradients, owned, share.tensors, format, matrices};
    if (e.job.choices.optimizer == OptimizerKind::kMuon && !e.job.choices.adapters.frozen() &&
        share.elements > 0)
      key.iterated =
          iterated_by(setting, e, r, static_cast<double>(owned) / static_cast<double>(share.elements));
    e.paces[r].optimizer = &memo.optimizer(key, network);
  }
}

void add_reductions(const Setting& setting, const Network& network, Timed& e) {
  const Choices& choices = e.job.choices;
  const Mesh& mesh = e.job.mesh;
  const bool replicated = mesh.data_ranks() > 1 || mesh.data_ranks(WeightClass::kExperts) > 1;
  const bool reduces =
      (replicated && !choices.sharding.units.scatters) || runs_both_ways(e.job.pipeline.schedule);
  e.buckets.clear();
  e.ranges.assign(e.chunks.size(), BucketRange{});
  e.traffic.assign(e.chunks.size(), ChunkTraffic{});
  for (std::size_t n = 0; n < e.chunks.size(); ++n) {
    const ChunkCost& cost = *e.chunks[n];
    BucketRange& range = e.ranges[n];
    const double stretch = e.stretch_of(n);
    for (std::size_t before = n; before-- > 0 && n - before < kNearChunks;)
      if (e.chunks[before] == e.chunks[n] && e.stretch_of(before) == stretch) {
        range = e.ranges[before];
        e.traffic[n].reduction = e.traffic[before].reduction;
        break;
      }
    if (range.count > 0) continue;
    range.first = e.buckets.size();
    if (reduces) e.traffic[n].reduction = add_buckets(setting, e.job, cost, stretch, network, e.buckets);
    range.count = e.buckets.size() - range.first;
  }
}

// At the clock of each chunk's rank.
void add_loads(const Setting& setting, const Network& network, Timed& e) {
  const Pipeline& pipeline = e.job.pipeline;
  Messages messages(setting, e.job, pipeline, network);
  for (std::size_t n = 0; n < e.chunks.size(); ++n) {
    const ChunkCost& cost = *e.chunks[n];
    const auto piece = static_cast<std::int64_t>(n);
    const double stretch = e.stretch_of(n);
    ChunkLoad& load = e.loads[n];
    load.forward = AtClock(cost.forward, stretch).duration();
    load.backward = AtClock(cost.backward, stretch).duration();
    load.input = AtClock(cost.input, stretch).duration();
    load.weight = AtClock(cost.weight, stretch).duration();
    // Spread over all passes of the rank.
    const double alone = e.unpaired(static_cast<std::size_t>(pipeline.rank(piece))) /
                         static_cast<double>(e.per_chunk * pipeline.chunks_per_stage);
    load.forward += cost.forward_unpaired * alone;
    load.backward += cost.backward_unpaired * alone;
    load.input += cost.backward_unpaired * alone;
    const auto send = [&](const NetworkTime& message, std::size_t to) {
      e.traffic[n].messages += message;
      if (e.work.blocking_receives) e.traffic[to].messages += message;
      return message.seconds;
    };
    if (!pipeline.last(piece)) load.send_forward = send(messages.down(piece), n + 1);
    if (!pipeline.first(piece)) load.send_backward = send(messages.up(piece), n - 1);
    load.buckets = {e.buckets.data() + e.ranges[n].first, e.ranges[n].count};
  }
}

void add_updates(const Setting& setting, const Network& network, Timed& e) {
  e.updates.assign(e.stages.size(), StageUpdate{});
  e.gathers.assign(e.stages.size(), NetworkTime{});
  for (std::size_t r = 0; r < e.stages.size(); ++r) {
    const StagePace& pace = e.paces[r];
    if (r > 0 && e.stages[r].share == e.stages[r - 1].share && pace.stretch == e.paces[r - 1].stretch &&
        e.stages[r].paged_out == e.stages[r - 1].paged_out) {
      e.updates[r] = e.updates[r - 1];
      e.gathers[r] = e.gathers[r - 1];
      continue;
    }
    e.updates[r].optimizer = AtClock(*pace.optimizer, pace.stretch).duration() + host_update(setting, e, r);
    if (e.job.choices.sharding.gathers_by_step) e.gathers[r] = parameter_gather(setting, e, network, r);
    e.gathers[r] += muon_exchange(setting, e, network, r);
    e.updates[r].gather = e.gathers[r].seconds;
  }
  e.work.updates = e.updates;
}

// What all ranks of the model do together.
void add_exchanges(const Network& network, Timed& e) {
  const ParameterShare& first = e.stages.front().share;
  const double reduced_bytes = bytes_of(e.job.choices.reduce_dtype);
  e.exchange = {};
  if (first.embedding_elements > 0)
    e.exchange =
        NetworkTime(network.cost({CollectiveKind::kAllReduce, GroupKind::kEmbedding,
                                  Bytes(static_cast<double>(first.embedding_elements) * reduced_bytes)}));
  e.work.embedding_exchange = e.exchange.seconds;
  // The gradient norm (and, with fp16, whether it overflowed): one number over all ranks of a model.
  e.work.meet = network.cost({CollectiveKind::kAllReduce, GroupKind::kModel, Bytes(8)}).seconds;
}

}  // namespace

void add_times(const Setting& setting, const Network& network, ChunkMemo& memo, Timed& e) {
  for (ChunkCost* cost : e.chunks) memo.lay_out(*cost, network);
  add_optimizers(setting, network, memo, e);
  settle_clocks(setting.cluster.gpu, memo.power(), e);
  add_reductions(setting, network, e);
  add_loads(setting, network, e);
  add_updates(setting, network, e);
  add_exchanges(network, e);
}

}  // namespace foretrain
