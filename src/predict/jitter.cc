#include "predict/jitter.h"

#include <algorithm>
#include <cmath>

namespace foretrain {
namespace {

// Numbers in (0, 1) by a counter and a 64-bit mix (SplitMix64): the same everywhere, unlike <random>'s
// distributions.
class Draws {
 public:
  double uniform() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (static_cast<double>(z >> 11) + 0.5) * 0x1p-53;
  }

  // The largest of n standard normal numbers: its distribution is the n-th power of one's.
  double largest_normal(double n) { return normal_quantile(std::pow(uniform(), 1 / n)); }

  double exponential() { return -std::log(uniform()); }

  // The sum of a Poisson number of exponential lengths of mean 1. For many, its normal limit.
  double stalls(double mean) {
    if (mean > 100) return std::max(0.0, mean + std::sqrt(2 * mean) * normal_quantile(uniform()));
    double sum = 0;
    for (double gap = exponential(); gap < mean; gap += exponential()) sum += exponential();
    return sum;
  }

 private:
  // Bisection on erfc: exact enough, and this is no hot path.
  static double normal_quantile(double p) {
    double low = -9, high = 9;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
    }
    return (low + high) / 2;
  }

  std::uint64_t state_ = 1;
};

}  // namespace

StepDistribution drawn_steps(const PipelineWork& work, Seconds step, const Jitter& jitter, std::int64_t nodes,
                             std::int64_t replicas, Timeline& timeline) {
  Draws draws;
  std::vector<ChunkLoad> chunks(work.chunks.begin(), work.chunks.end());
  std::vector<StageUpdate> updates(work.updates.begin(), work.updates.end());
  PipelineWork varied = work;
  varied.chunks = chunks;
  varied.updates = updates;
  const bool varies = jitter.spread > 0 || jitter.message_spread > 0;
  const auto alike = static_cast<double>(replicas);
  std::vector<double> steps;
  for (int k = 0; k < kDrawnSteps; ++k) {
    Seconds drawn = step;
    if (varies) {
      const std::int64_t ranks = work.ranks();
      for (std::size_t n = 0; n < chunks.size(); ++n) {
        const ChunkLoad& plain = work.chunks[n];
        const double slow = std::exp(jitter.spread * draws.largest_normal(alike));
        const double late = std::exp(jitter.message_spread * draws.largest_normal(alike));
        chunks[n].forward = plain.forward * slow;
        chunks[n].backward = plain.backward * slow;
        chunks[n].input = plain.input * slow;
        chunks[n].weight = plain.weight * slow;
        chunks[n].send_forward = plain.send_forward * late;
        chunks[n].send_backward = plain.send_backward * late;
      }
      for (std::int64_t r = 0; r < ranks && !updates.empty(); ++r) {
        const auto i = static_cast<std::size_t>(r);
        updates[i].gather =
            work.updates[i].gather * std::exp(jitter.message_spread * draws.largest_normal(alike));
      }
      drawn = timeline.simulate(varied);
    }
    const double stalls = jitter.stalls_per_node_hour / 3600 * static_cast<double>(nodes) * drawn.value;
    drawn += jitter.stall * draws.stalls(stalls);
    steps.push_back(drawn.value);
  }
  std::sort(steps.begin(), steps.end());
  const auto at = [&](double share) {
    return Seconds(steps[static_cast<std::size_t>(share * (kDrawnSteps - 1) + 0.5)]);
  };
  return {Seconds(steps.front()), at(0.5), at(0.9)};
}

}  // namespace foretrain
