#include "predict/uncertainty.h"

#include "predict/evaluation.h"
#include "predict/traffic.h"

namespace foretrain {

Uncertainty uncertainty(const Simulated& e) {
  const StagePace& pace = e.paces[e.busiest];
  const RankTraffic traffic = traffic_of(e, e.busiest);
  const StageTimes& times = e.times()[e.busiest];
  // The bubble is made of the same passes: it is as uncertain as they are.
  const double stretch =
      times.compute > Seconds(0) ? (times.pipeline_end - times.sending) / times.compute : 1.0;
  Uncertainty u;
  u.composition = e.job.mesh.gpus() > 1 ? kComposition : kPassComposition;
  e.for_each_segment(e.busiest, [&](const AtClock& segment, double n) {
    for (std::size_t k = 0; k < kOperatorKindCount; ++k) u.operators[k] += segment.uncertain(k) * n;
    u.collectives += segment.uncertain_collectives() * n;
    u.launches += segment.by_cause(static_cast<std::size_t>(Cause::kLaunch)) * n;
    if (!e.job.choices.experts.guessed) return;
    u.routing += (segment.by_operator(static_cast<std::size_t>(OperatorKind::kGroupedProduct)) +
                  segment.by_cause(static_cast<std::size_t>(Cause::kExpertParallel))) *
                 n;
  });
  const AtClock optimizer(*pace.optimizer, pace.stretch);
  for (std::size_t k = 0; k < kOperatorKindCount; ++k)
    u.operators[k] = u.operators[k] * stretch + optimizer.uncertain(k);
  u.collectives *= stretch;
  u.launches *= stretch * kLaunchSpread;
  u.routing *= stretch * kRoutingSpread;
  u.launches += (e.updates[e.busiest].optimizer - optimizer.duration()) * kHostMemorySpread;
  u.sends = traffic.messages.uncertain;
  u.reductions = traffic.reduction.uncertain + traffic.gather.uncertain + traffic.exchange.uncertain;
  return u;
}

}  // namespace foretrain
