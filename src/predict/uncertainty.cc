#include "predict/uncertainty.h"

#include <algorithm>

#include "predict/evaluation.h"
#include "predict/traffic.h"

namespace foretrain {

Uncertainty uncertainty(const Simulated& e, Bytes usable) {
  const StagePace& pace = e.paces[e.busiest];
  const RankTraffic traffic = traffic_of(e, e.busiest);
  const StageTimes& times = e.times()[e.busiest];
  // The bubble is made of the same passes: it is as uncertain as they are.
  const double stretch =
      times.compute > Seconds(0) ? (times.pipeline_end - times.sending) / times.compute : 1.0;
  Uncertainty u;
  Seconds derived, analytic, experts;
  u.one_gpu = e.job.mesh.gpus() == 1;
  e.for_each_segment(e.busiest, [&](const AtClock& segment, double n) {
    for (std::size_t k = 0; k < kOperatorKindCount; ++k) u.operators[k] += segment.uncertain(k) * n;
    u.collectives += segment.uncertain_collectives() * n;
    u.launches += segment.host_bound() * n;
    derived += segment.by_origin(static_cast<std::size_t>(Origin::kDerived)) * n;
    analytic += segment.by_origin(static_cast<std::size_t>(Origin::kAnalytic)) * n;
    experts += (segment.by_operator(static_cast<std::size_t>(OperatorKind::kGroupedProduct)) +
                segment.by_cause(static_cast<std::size_t>(Cause::kExpertParallel))) *
               n;
  });
  if (e.job.choices.experts.guessed) u.routing = experts;
  const AtClock optimizer(*pace.optimizer, pace.stretch);
  for (std::size_t k = 0; k < kOperatorKindCount; ++k)
    u.operators[k] = u.operators[k] * stretch + optimizer.uncertain(k);
  u.collectives *= stretch;
  u.launches *= stretch * kLaunchSpread;
  u.routing *= stretch * kRoutingSpread;
  u.launches += (e.updates[e.busiest].optimizer - optimizer.duration()) * kHostMemorySpread;
  u.sends = traffic.messages.uncertain;
  u.reductions = traffic.reduction.uncertain + traffic.gather.uncertain + traffic.exchange.uncertain;
  // Of what is busy on the stage; the bubble is made of the same.
  const Seconds busy = times.compute + optimizer.duration();
  derived += optimizer.by_origin(static_cast<std::size_t>(Origin::kDerived));
  analytic += optimizer.by_origin(static_cast<std::size_t>(Origin::kAnalytic));
  if (busy > Seconds(0)) {
    u.derived = std::min(1.0, derived / busy);
    u.analytic = std::min(1.0, analytic / busy);
  }
  u.described = e.job.choices.described;
  u.retries = std::any_of(e.stages.begin(), e.stages.end(), [&](const StageParts& stage) {
    return usable < stage.memory.total &&
           fit_probability(stage.memory.needed, usable, u.described) >= kMayRun;
  });
  return u;
}

}  // namespace foretrain
