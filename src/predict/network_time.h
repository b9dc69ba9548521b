// Seconds that the network takes for one purpose (a rank's messages, say), whatever the collectives are that
// they consist of: how sure they are, and how many of them each origin answers for. A fabric that is slower
// than it is thought to be is so for all of them: deviations add up.
#pragma once

#include <array>

#include "base/estimate.h"
#include "base/units.h"
#include "network/network.h"

namespace foretrain {

struct NetworkTime {
  Seconds seconds;
  Seconds uncertain;                              // a deviation
  std::array<Seconds, kOriginCount> by_origin{};  // sums to seconds

  NetworkTime() = default;
  explicit NetworkTime(const CollectiveCost& cost)
      : seconds(cost.seconds), uncertain(cost.seconds * cost.spread) {
    by_origin[static_cast<std::size_t>(cost.origin)] = cost.seconds;
  }

  NetworkTime& operator+=(const NetworkTime& other) {
    seconds += other.seconds;
    uncertain += other.uncertain;
    for (std::size_t i = 0; i < by_origin.size(); ++i) by_origin[i] += other.by_origin[i];
    return *this;
  }
  friend NetworkTime operator*(NetworkTime time, double times) {
    time.seconds *= times;
    time.uncertain *= times;
    for (Seconds& s : time.by_origin) s *= times;
    return time;
  }
  // The same mix, of which so much is waited for: work beside it hides some, or slows it down.
  NetworkTime waited_for(Seconds wait) const {
    if (seconds <= Seconds(0) || wait <= Seconds(0)) return {};
    NetworkTime time = *this * (wait / seconds);
    time.seconds = wait;  // to the last digit
    return time;
  }
};

}  // namespace foretrain
