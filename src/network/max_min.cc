#include "network/max_min.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace foretrain {

void max_min(std::span<const double> capacities, std::span<const FlowClass> classes,
             std::span<double> rates) {
  constexpr std::size_t kMostClasses = 32;
  CHECK_THAT(capacities.size() <= kMaxSharedLinks && classes.size() <= kMostClasses);
  CHECK_THAT(rates.size() == classes.size());
  std::array<bool, kMostClasses> settled{};
  std::array<double, kMaxSharedLinks> left{};
  std::copy(capacities.begin(), capacities.end(), left.begin());

  for (std::size_t done = 0; done < classes.size();) {
    // The level at which the next link is full or the next class has what it can carry.
    double level = std::numeric_limits<double>::infinity();
    std::array<double, kMaxSharedLinks> rising{};
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (settled[c]) continue;
      level = std::min(level, classes[c].limit);
      for (std::size_t l = 0; l < capacities.size(); ++l) rising[l] += classes[c].uses[l];
    }
    for (std::size_t l = 0; l < capacities.size(); ++l)
      if (rising[l] > 0) level = std::min(level, std::max(left[l], 0.0) / rising[l]);

    std::array<bool, kMaxSharedLinks> full{};
    for (std::size_t l = 0; l < capacities.size(); ++l)
      full[l] = rising[l] > 0 && left[l] <= level * rising[l] * (1 + 1e-12);

    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (settled[c]) continue;
      bool stops = classes[c].limit <= level;
      for (std::size_t l = 0; l < capacities.size(); ++l)
        stops = stops || (full[l] && classes[c].uses[l] > 0);
      if (!stops) continue;
      rates[c] = level;
      settled[c] = true;
      ++done;
      for (std::size_t l = 0; l < capacities.size(); ++l) left[l] -= classes[c].uses[l] * level;
    }
  }
}

}  // namespace foretrain
