#include "report/over_report.h"

#include <algorithm>

#include "spec/plan_text.h"

namespace foretrain {

StepCause OverFigures::most() const {
  return static_cast<StepCause>(std::max_element(breakdown.begin(), breakdown.end()) - breakdown.begin());
}

std::optional<StepCause> OverFigures::most_beside() const {
  std::optional<StepCause> found;
  for (std::size_t i = 0; i < breakdown.size(); ++i) {
    const auto cause = static_cast<StepCause>(i);
    if (cause == StepCause::kForward || cause == StepCause::kBackward || share(cause) < 1e-3) continue;
    if (!found || share(cause) > share(*found)) found = cause;
  }
  return found;
}

double OverFigures::share(StepCause cause) const {
  return breakdown[static_cast<std::size_t>(cause)].value / step.value;
}

std::string OverAnswer::place(std::size_t point) const {
  const std::size_t across = columns();
  std::string out = axes[0].key + "=" + axes[0].words[point / across];
  if (axes.size() == 2) out += "," + axes[1].key + "=" + axes[1].words[point % across];
  return out;
}

OverFigures figures_of(const Run& run, const Prediction& p, const std::optional<Training>& whole) {
  return {.plan = to_text(run.plan),
          .gpus = run.gpus,
          .seq = run.seq,
          .global_batch = run.global_batch,
          .step = p.step,
          .typical = p.typical,
          .tokens_per_s_per_gpu = p.tokens_per_s_per_gpu,
          .mfu = p.mfu,
          .needed = p.needed,
          .usable = p.usable,
          .peak = p.peak,
          .fits = p.fits,
          .fit_probability = p.fit_probability,
          .breakdown = p.breakdown,
          .whole = whole};
}

}  // namespace foretrain
