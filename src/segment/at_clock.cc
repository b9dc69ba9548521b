// A segment at another clock than the one it was laid out for, and what of it a governor looks at.
#include <algorithm>
#include <cmath>

#include "segment/segment.h"

namespace foretrain {
namespace {

Seconds clocked_seconds(const Segment& segment) {
  Seconds sum;
  for (const Seconds s : segment.clocked.by_cause) sum += s;
  return sum;
}

constexpr auto kLaunchCause = static_cast<std::size_t>(Cause::kLaunch);

}  // namespace

AtClock::AtClock(const Segment& segment, double stretch)
    : segment_(segment), more_(stretch - 1), longer_(clocked_seconds(segment) * (stretch - 1)) {
  filled_ = std::max(std::min(longer_, segment.by_cause[kLaunchCause]) - segment.lead, Seconds(0));
}

Seconds AtClock::by_cause(std::size_t cause) const {
  const Seconds filled = cause == kLaunchCause ? filled_ : Seconds(0);
  return segment_.by_cause[cause] + segment_.clocked.by_cause[cause] * more_ - filled;
}

double AtClock::joules(const PowerModel* power) const {
  const ClockedPart& part = segment_.clocked;
  if (power == nullptr || more_ == 0) return part.fixed_joules + part.clocked_joules;
  return part.fixed_joules + power->static_w * longer_.value +
         part.clocked_joules * std::pow(1 + more_, -power->exponent);
}

void add(PowerLoad& load, const Segment& segment, double times) {
  const Seconds clocked = clocked_seconds(segment), idle = segment.by_cause[kLaunchCause];
  load.clocked += clocked * times;
  load.idle += idle * times;
  load.fixed += (segment.duration - clocked - idle) * times;
  load.fixed_joules += segment.clocked.fixed_joules * times;
  load.clocked_joules += segment.clocked.clocked_joules * times;
}

}  // namespace foretrain
