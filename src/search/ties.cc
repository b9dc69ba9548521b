#include "search/ties.h"

#include <fmt/format.h>

#include <cmath>

#include "base/field_mark.h"
#include "predict/uncertainty.h"

namespace foretrain {

Tie compare(const Prediction& a, const Prediction& b) {
  double square = 0, most = 0;
  Tie tie;
  const auto add = [&](double difference, std::string settles) {
    square += difference * difference;
    if (std::abs(difference) <= most) return;
    most = std::abs(difference);
    tie.settles = std::move(settles);
  };
  // Named by what a request to fit one calls its cluster.
  const std::string on_fabric = fmt::format("on this fabric (foretrain fit {})", marked("cluster"));
  for (std::size_t k = 0; k < kOperatorKindCount; ++k)
    add((b.uncertain.operators[k] - a.uncertain.operators[k]).value,
        fmt::format("samples of {} on this GPU (foretrain fit)", kOperatorKindNames[k]));
  add((b.uncertain.collectives - a.uncertain.collectives).value,
      "samples of tensor parallel collectives " + on_fabric);
  add((b.uncertain.launches - a.uncertain.launches).value, "the host's time for a launch");
  add((b.uncertain.sends - a.uncertain.sends).value, "samples of messages between stages " + on_fabric);
  add((b.uncertain.reductions - a.uncertain.reductions).value,
      "samples of data parallel collectives " + on_fabric);
  double apart = 0;
  for (std::size_t c = 0; c < kStepCauseCount; ++c)
    apart += std::abs((b.breakdown[c] - a.breakdown[c]).value);
  add(kComposition * apart / 2, "a few steps of each");
  if (most == 0) tie.settles = "nothing: their parts take the same";
  tie.difference = Seconds(b.step.value - a.step.value);
  tie.sigma = Seconds(std::sqrt(square));
  tie.tied = std::abs(tie.difference.value) <= kZ80 * tie.sigma.value;
  return tie;
}

}  // namespace foretrain
