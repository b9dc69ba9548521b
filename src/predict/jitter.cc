#include "predict/jitter.h"

#include <algorithm>
#include <cmath>

namespace foretrain {
namespace {

constexpr double kMostPasses = 2e7;  // simulated in all: half a second

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
  std::vector<std::vector<Bucket>> buckets;
  for (const ChunkLoad& load : work.chunks) buckets.emplace_back(load.buckets.begin(), load.buckets.end());
  PipelineWork varied = work;
  varied.chunks = chunks;
  varied.updates = updates;
  const bool varies = jitter.spread > 0 || jitter.message_spread > 0;
  const auto alike = static_cast<double>(replicas);
  const Pipeline pipeline = work.pipeline();
  std::vector<double> slow(static_cast<std::size_t>(work.ranks())), late(slow.size());
  const auto vary = [&] {
    for (double& rank : slow) rank = std::exp(jitter.spread * draws.largest_normal(alike));
    for (double& rank : late) rank = std::exp(jitter.message_spread * draws.largest_normal(alike));
    for (std::size_t n = 0; n < chunks.size(); ++n) {
      const ChunkLoad& plain = work.chunks[n];
      const auto rank = static_cast<std::size_t>(pipeline.rank(static_cast<std::int64_t>(n)));
      chunks[n].forward = plain.forward * slow[rank];
      chunks[n].backward = plain.backward * slow[rank];
      chunks[n].input = plain.input * slow[rank];
      chunks[n].weight = plain.weight * slow[rank];
      chunks[n].send_forward = plain.send_forward * late[rank];
      chunks[n].send_backward = plain.send_backward * late[rank];
      for (std::size_t i = 0; i < buckets[n].size(); ++i)
        buckets[n][i].seconds = plain.buckets[i].seconds * late[rank];
      chunks[n].buckets = buckets[n];
    }
    for (std::size_t r = 0; r < updates.size(); ++r) updates[r].gather = work.updates[r].gather * late[r];
    varied.embedding_exchange = work.embedding_exchange * std::max(late.front(), late.back());
  };

  // Long steps are drawn less often: a fixed amount of work.
  const double passes = 2.0 * static_cast<double>(chunks.size()) * static_cast<double>(work.micro_batches);
  const int count =
      varies ? static_cast<int>(std::clamp(kMostPasses / passes, 25.0, double{kDrawnSteps})) : kDrawnSteps;
  std::vector<double> steps;
  double sum = 0;
  for (int k = 0; k < count; ++k) {
    Seconds drawn = step;
    if (varies) {
      vary();
      drawn = timeline.simulate(varied);
    }
    const double stalls = jitter.stalls_per_node_hour / 3600 * static_cast<double>(nodes) * drawn.value;
    sum += (drawn + jitter.stall * stalls).value;
    drawn += jitter.stall * draws.stalls(stalls);
    steps.push_back(drawn.value);
  }
  std::sort(steps.begin(), steps.end());
  const auto at = [&](double share) {
    return Seconds(steps[static_cast<std::size_t>(share * (count - 1) + 0.5)]);
  };
  return {Seconds(steps.front()), at(0.5), at(0.9), Seconds(sum / count)};
}

}  // namespace foretrain
