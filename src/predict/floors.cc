#include "predict/floors.h"

#include <algorithm>
#include <array>
#include <limits>

#include "memory/states.h"
#include "timeline/schedule.h"
#include "workload/parameter_share.h"

namespace foretrain {
namespace {

// The least that the worst stage holds, however layers are dealt over stages. A stage of l layers, with n
// micro-batches in flight and N layers of each of its v chunks run again, holds at least
//   l (S + n H) - n v N D
// by a layer's states S, what its forward keeps H, and D less of it where it is run again. As all l sum to L,
//   peak >= (L - sum over stages n v N D / (S + n H)) / (sum over stages 1 / (S + n H))
// Layers of several kinds k count by weights c_k, those of the first kind 1: for any weights the same holds
// with L the sum of all c_k, S + n H the least of all (S_k + n H_k) / c_k, and D the largest of all D_k.
struct LayerBytes {
  double count = 0;  // layers of this kind
  double state = 0;
  double kept = 0;
};

constexpr double kNoLayer = std::numeric_limits<double>::infinity();

Bytes layers_floor(const Setting& setting, const Job& job, ShapeKey key, ChunkMemo& memo) {
  const Choices& choices = job.choices;
  const auto held = [&](const Chunk& layer, Recompute recompute) {
    key.passes.recompute = recompute;
    key.passes.recompute_layers = 0;
    memo.use_shape(key);
    return memo.bytes(layer).bytes.held.value;
  };
  const bool some = choices.recompute == Recompute::kFull && choices.recompute_layers > 0;
  const Chunk all = all_layers_of(setting.model, choices.low);
  std::array<LayerBytes, kMaxBlockKinds> kinds{};
  std::size_t count = 0;
  double less = 0;
  for (; count < kMaxBlockKinds && all.layers[count] > 0; ++count) {
    LayerBytes& layer = kinds[count];
    layer.count = static_cast<double>(all.layers[count]);
    layer.state = layer.kept = kNoLayer;
    // Layers that stay in the format of the passes hold other bytes: at least, those of the smaller.
    for (const bool plain : {false, true}) {
      const std::int64_t rows = plain ? all.plain[count] : all.layers[count] - all.plain[count];
      if (rows == 0) continue;
      const Chunk one = Chunk::of_kind(count, 1, plain);
      const double kept = held(one, some ? Recompute::kNone : choices.recompute);
      if (some)
        less = std::max(less, static_cast<double>(choices.recompute_layers * job.pipeline.chunks_per_stage) *
                                  (kept - held(one, Recompute::kFull)));
      const ParameterShare share =
          parameter_share(setting.model, setting.stack, job.mesh.weight_ranks(),
                          Chunk::of_kind(count, rows, plain), true, choices.adapters);
      const StateBytes states = state_bytes(share, setting.stack, job);
      layer.kept = std::min(layer.kept, kept);
      layer.state =
          std::min(layer.state, (states.total() - states.gradients).value / static_cast<double>(rows));
    }
  }
  const auto weight = [&](std::size_t k) {
    return k == 0 ? 1.0 : (kinds[k].state + kinds[k].kept) / (kinds[0].state + kinds[0].kept);
  };
  double left = 0, stages = 0;
  for (std::size_t k = 0; k < count; ++k) left += kinds[k].count * weight(k);
  for (std::int64_t r = 0; r < job.mesh.pp; ++r) {
    const auto n =
        static_cast<double>(least_in_flight(job.pipeline.schedule, r, job.mesh.pp, job.micro_batches));
    double least = kinds[0].state + n * kinds[0].kept;
    for (std::size_t k = 1; k < count; ++k)
      least = std::min(least, (kinds[k].state + n * kinds[k].kept) / weight(k));
    left -= n * less / least;
    stages += 1 / least;
  }
  return Bytes(std::max(0.0, left / stages));
}

}  // namespace

PlanFloor plan_floor(const Setting& setting, const Job& job, const Network& network, ChunkMemo& memo) {
  const std::int64_t pp = job.mesh.pp;
  ShapeKey key = shape_key(setting, job, network);
  // Over how many ranks units are divided, and where these lie, makes only collectives longer: one floor serves
  // them all.
  for (const WeightClass of : kWeightClasses)
    if (key.passes.units.shards[of] > 1) key.passes.units.shards[of] = 2;
  key.passes.units.replicated = {};
  key.shard = key.replica = key.expert_shard = key.expert_replica = {};
  // Which stages have layers that are not run again hangs on the split: at least, none is.
  if (key.passes.recompute_layers > 0) {
    key.passes.recompute = Recompute::kNone;
    key.passes.recompute_layers = 0;  // one floor serves all their numbers
  }
  memo.use_shape(key);
  const auto seconds = [&](const Chunk& chunk) {
    ChunkCost& cost = memo.bytes(chunk);
    memo.lay_out(cost, network);
    Seconds sum;
    for (const Segment* segment : {&cost.forward, &cost.backward}) {
      for (const Cause cause : {Cause::kForward, Cause::kBackward, Cause::kRecompute})
        sum += segment->by_cause[static_cast<std::size_t>(cause)];
      if (setting.stack.tensor_parallel.blocking)
        sum += segment->by_cause[static_cast<std::size_t>(Cause::kTensorParallel)];
    }
    return sum;
  };
  const std::int64_t layers = setting.model.layers();
  Chunk whole = all_layers_of(setting.model, job.choices.low);
  Seconds layer, all;  // the shortest, and all of them
  for (std::size_t k = 0; k < kMaxBlockKinds && whole.layers[k] > 0; ++k) {
    for (const bool plain : {false, true}) {
      const std::int64_t rows = plain ? whole.plain[k] : whole.layers[k] - whole.plain[k];
      if (rows == 0) continue;
      const Seconds each = seconds(Chunk::of_kind(k, 1, plain));
      layer = all == Seconds(0) ? each : std::min(layer, each);
      all += each * static_cast<double>(rows);
    }
  }
  all = all + seconds({0, true, false}) + seconds({0, false, true});
  // Some stage has as many layers as an even split gives, and some stage as much work as the average. Of
  // dualpipe's two copies of the model a stage runs half the micro-batches each.
  const std::int64_t copies = runs_both_ways(job.pipeline.schedule) ? 2 : 1;
  const Seconds fullest =
      layer * (static_cast<double>((copies * layers + pp - 1) / pp) / static_cast<double>(copies));
  // Likewise of parameters, a tied head counted once.
  whole.first = whole.last = true;
  ParameterShare share = parameter_share(setting.model, setting.stack, job.mesh.weight_ranks(), whole, true,
                                         job.choices.adapters);
  share.elements /= pp;
  share.experts.elements /= pp;
  // Matrices in fewer bits take more than others, or less.
  const bool more = job.choices.low.weight_bytes() > bytes_of(job.choices.precision);
  const auto divided = [&](std::int64_t elements) { return (elements + (more ? 0 : pp - 1)) / pp; };
  share.narrow_elements = divided(share.narrow_elements);
  share.experts.narrow_elements = divided(share.experts.narrow_elements);
  for (const WeightClass weights : kWeightClasses) {
    share.frozen.elements[weights] /= pp;
    share.frozen.narrow[weights] = divided(share.frozen.narrow[weights]);
  }
  share.frozen.quantised = (share.frozen.quantised + pp - 1) / pp;  // they take less than the others
  share.frozen.quantised_rows /= pp;
  const StateBytes states = state_bytes(share, setting.stack, job);
  return {std::max(fullest, all / static_cast<double>(pp)) *
              (static_cast<double>(job.micro_batches) * kBelowRounding),
          std::max(states.total(), layers_floor(setting, job, key, memo)) * kBelowRounding};
}

}  // namespace foretrain
