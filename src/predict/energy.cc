#include "predict/energy.h"

#include <algorithm>

namespace foretrain {
namespace {

// Power of a GPU that waits (for its turn in the pipeline, a message, the host) as a share of its cap:
// assumed.
constexpr double kWaitPowerShare = 0.3;

}  // namespace

double joules(const Gpu& gpu, const PowerModel* power, const Timed& e, Seconds step) {
  double sum = 0;
  const double waiting_w = power ? power->static_w : gpu.power_cap_w * kWaitPowerShare;
  for (std::size_t r = 0; r < e.stages.size(); ++r) {
    Seconds busy;  // in operators and collectives
    const auto add_joules = [&](const AtClock& at, double times) {
      // Compute and a collective at once would draw more than the cap, which the GPU does not.
      sum += std::min(at.joules(power), at.duration().value * gpu.power_cap_w) * times;
      busy += (at.duration() - at.by_cause(static_cast<std::size_t>(Cause::kLaunch))) * times;
    };
    e.for_each_segment(r, add_joules);
    add_joules(AtClock(*e.paces[r].optimizer, e.paces[r].stretch), 1);
    sum += std::max(0.0, (step - busy).value) * waiting_w;
  }
  return sum * static_cast<double>(e.job.mesh.stage_ranks());
}

}  // namespace foretrain
