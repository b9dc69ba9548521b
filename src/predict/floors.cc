#include "predict/floors.h"

#include <algorithm>

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
Bytes layers_floor(const Setting& setting, const Job& job, ShapeKey key, ChunkMemo& memo) {
  const Choices& choices = job.choices;
  const auto held = [&](Recompute recompute) {
    key.passes.recompute = recompute;
    key.passes.recompute_layers = 0;
    memo.use_shape(key);
    return memo.bytes({1, false, false}).bytes.held.value;
  };
  const bool some = choices.recompute == Recompute::kFull && choices.recompute_layers > 0;
  const double kept = held(some ? Recompute::kNone : choices.recompute);
  const double less = some ? static_cast<double>(choices.recompute_layers * job.pipeline.chunks_per_stage) *
                                 (kept - held(Recompute::kFull))
                           : 0.0;
  const auto layers = static_cast<double>(setting.model.layers());
  const ParameterShare share = parameter_share(setting.model, setting.stack, job.mesh.tp,
                                               {setting.model.layers(), false, false}, true);
  const StateBytes states = state_bytes(share, setting.stack, job);
  const double state = (states.total() - states.gradients).value / layers;
  double left = layers, stages = 0;
  for (std::int64_t r = 0; r < job.mesh.pp; ++r) {
    const auto n =
        static_cast<double>(least_in_flight(job.pipeline.schedule, r, job.mesh.pp, job.micro_batches));
    left -= n * less / (state + n * kept);
    stages += 1 / (state + n * kept);
  }
  return Bytes(std::max(0.0, left / stages));
}

}  // namespace

PlanFloor plan_floor(const Setting& setting, const Job& job, const Network& network, ChunkMemo& memo) {
  const std::int64_t tp = job.mesh.tp, pp = job.mesh.pp;
  ShapeKey key = shape_key(setting, job, network);
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
  const Seconds layer = seconds({1, false, false});
  const Seconds all =
      layer * static_cast<double>(layers) + seconds({0, true, false}) + seconds({0, false, true});
  // Some stage has as many layers as an even split gives, and some stage as much work as the average. Of
  // dualpipe's two copies of the model a stage runs half the micro-batches each.
  const std::int64_t copies = runs_both_ways(job.pipeline.schedule) ? 2 : 1;
  const Seconds fullest =
      layer * (static_cast<double>((copies * layers + pp - 1) / pp) / static_cast<double>(copies));
  // Likewise of parameters, a tied head counted once.
  ParameterShare share = parameter_share(setting.model, setting.stack, tp, {layers, true, true}, true);
  share.elements /= pp;
  const StateBytes states = state_bytes(share, setting.stack, job);
  return {std::max(fullest, all / static_cast<double>(pp)) *
              (static_cast<double>(job.micro_batches) * kBelowRounding),
          std::max(states.total(), layers_floor(setting, job, key, memo)) * kBelowRounding};
}

}  // namespace foretrain
