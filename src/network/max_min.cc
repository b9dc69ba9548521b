#include "network/max_min.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostClasses = 32;
using PerLink = std::array<double, kMaxSharedLinks>;

// How rates rise together, until all classes have settled.
class Filling {
 public:
  Filling(std::span<const double> capacities, std::span<const FlowClass> classes)
      : links_(capacities.size()), classes_(classes) {
    std::copy(capacities.begin(), capacities.end(), left_.begin());
  }

  bool done() const { return settled_count_ == classes_.size(); }

  // Rises to the level at which the next link is full or the next class has what it can carry, and settles
  // the classes concerned.
  void rise(std::span<double> rates) {
    const PerLink rising = flows_still_rising();
    const double level = next_level(rising);
    std::array<bool, kMaxSharedLinks> full{};
    for (std::size_t l = 0; l < links_; ++l)
      full[l] = rising[l] > 0 && left_[l] <= level * rising[l] * (1 + 1e-12);

    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (settled_[c] || !stops(classes_[c], level, full)) continue;
      rates[c] = level;
      settled_[c] = true;
      ++settled_count_;
      for (std::size_t l = 0; l < links_; ++l) left_[l] -= classes_[c].uses[l] * level;
    }
  }

 private:
  PerLink flows_still_rising() const {
    PerLink rising{};
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (settled_[c]) continue;
      for (std::size_t l = 0; l < links_; ++l) rising[l] += classes_[c].uses[l];
    }
    return rising;
  }

  double next_level(const PerLink& rising) const {
    double level = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < classes_.size(); ++c)
      if (!settled_[c]) level = std::min(level, classes_[c].limit);
    for (std::size_t l = 0; l < links_; ++l)
      if (rising[l] > 0) level = std::min(level, std::max(left_[l], 0.0) / rising[l]);
    return level;
  }

  bool stops(const FlowClass& flows, double level, const std::array<bool, kMaxSharedLinks>& full) const {
    if (flows.limit <= level) return true;
    for (std::size_t l = 0; l < links_; ++l)
      if (full[l] && flows.uses[l] > 0) return true;
    return false;
  }

  std::size_t links_;
  std::span<const FlowClass> classes_;
  PerLink left_{};  // of each link, besides what settled classes take
  std::array<bool, kMostClasses> settled_{};
  std::size_t settled_count_ = 0;
};

}  // namespace

void max_min(std::span<const double> capacities, std::span<const FlowClass> classes,
             std::span<double> rates) {
  CHECK_THAT(capacities.size() <= kMaxSharedLinks && classes.size() <= kMostClasses);
  CHECK_THAT(rates.size() == classes.size());
  Filling filling(capacities, classes);
  while (!filling.done()) filling.rise(rates);
}

}  // namespace foretrain
