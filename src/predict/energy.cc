#include "predict/energy.h"

#include <algorithm>

#include "base/check.h"

namespace foretrain {
namespace {

// Power of a GPU that waits (for its turn in the pipeline, a message, the host) as a share of its cap:
// assumed.
constexpr double kWaitPowerShare = 0.3;

}  // namespace

double joules(const Gpu& gpu, const PowerModel* power, const Evaluation& e) {
  CHECK_THAT(e.has_times);
  double sum = 0;
  const double waiting_w = power ? power->static_w : gpu.power_cap_w * kWaitPowerShare;
  for (std::size_t r = 0; r < e.stages.size(); ++r) {
    Seconds busy;  // in operators and collectives
    const auto add_joules = [&](const Segment& segment, double times) {
      const AtClock at(segment, e.stages[r].stretch);
      // Compute and a collective at once would draw more than the cap, which the GPU does not.
      sum += std::min(at.joules(power), at.duration().value * gpu.power_cap_w) * times;
      busy += (at.duration() - at.by_cause(static_cast<std::size_t>(Cause::kLaunch))) * times;
    };
    for (std::int64_t c = 0; c < e.placement.chunks; ++c) {
      const auto n = e.node(r, c);
      for (const Segment* segment : {&e.chunks[n].cost->forward, &e.chunks[n].cost->backward})
        add_joules(*segment, static_cast<double>(e.per_chunk));
    }
    add_joules(*e.stages[r].optimizer, 1);
    sum += std::max(0.0, (e.step - busy).value) * waiting_w;
  }
  const Plan& plan = *e.plan;
  return sum * static_cast<double>(plan.tp * plan.cp * plan.dp);
}

}  // namespace foretrain
