#include "calibrate/next_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/estimate.h"

namespace foretrain {
namespace {

// The two runs and all that can be measured beside them, with what is left to know of each two.
class Unknowns {
 public:
  Unknowns(const Posterior& posterior, const Contest& c, const std::vector<Probe>& probes) {
    std::vector<Asked> asked = {of_run(c.a), of_run(c.b)};
    for (const Probe& probe : probes) {
      place_.push_back(probe.of_a > 0 ? kA : probe.of_b > 0 ? kB : asked.size());
      noise_.push_back(probe.noise * probe.noise);
      if (place_.back() == asked.size()) asked.push_back({probe.slope, std::nullopt, "", 0});
    }
    left_ = posterior.left(asked);
  }

  double variance() const { return left_(kA, kA) + left_(kB, kB) - 2 * left_(kA, kB); }  // of D
  double with_difference(std::size_t probe) const {
    return left_(kB, place_[probe]) - left_(kA, place_[probe]);
  }
  double between(std::size_t i, std::size_t j) const {
    return left_(place_[i], place_[j]) + (i == j ? noise_[i] : 0);
  }

 private:
  static constexpr std::size_t kA = 0, kB = 1;
  static Asked of_run(const Lesson& run) { return {run.slope, run.kind, run.run, run.spread}; }

  Matrix left_;
  std::vector<std::size_t> place_;
  std::vector<double> noise_;
};

// How much of D each value moves: cov(D, z) var(z)^-1. `some` are probes by their places.
struct Gain {
  std::vector<double> by;
  double explained = 0;
};
Gain gain_of(const Unknowns& unknowns, const std::vector<std::size_t>& some) {
  const std::size_t n = some.size();
  Matrix all(n, n);
  std::vector<double> with(n);
  for (std::size_t i = 0; i < n; ++i) {
    with[i] = unknowns.with_difference(some[i]);
    for (std::size_t j = 0; j < n; ++j) all(i, j) = unknowns.between(some[i], some[j]);
  }
  const auto solved = Cholesky::of(all);
  CHECK_THAT(solved.has_value());  // noise is above 0
  Gain gain{solved->solve(with), 0};
  for (std::size_t i = 0; i < n; ++i) gain.explained += gain.by[i] * with[i];
  return gain;
}

double below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// That a mean which will move by a normal draw comes to lie further from 0 than the interval reaches.
double chance_of(double mean, double variance, double explained) {
  const double reach = kZ80 * std::sqrt(std::max(0.0, variance - explained));
  const double moves = std::sqrt(std::max(0.0, explained));
  if (moves <= 1e-12) return std::abs(mean) > reach ? 1 : 0;
  return below((mean - reach) / moves) + below((-mean - reach) / moves);
}

}  // namespace

std::vector<Probe> possible_probes(const Contest& c, std::int64_t gpus_per_node) {
  const auto direct = [](std::string what, std::string how, double minutes, ClusterFactor factor,
                         double noise) {
    Probe m{std::move(what), std::move(how), minutes};
    m.slope[static_cast<std::size_t>(factor)] = 1;
    m.noise = noise;
    return m;
  };
  const auto node = static_cast<double>(gpus_per_node);
  const auto run = [](std::string_view which, const Lesson& l, double a, double b) {
    return Probe{fmt::format("a short run of {} ({})", which, l.plan),
                 "foretrain calibrate its log",
                 10 * static_cast<double>(l.gpus),
                 l.slope,
                 a,
                 b,
                 0.01};
  };
  std::vector<Probe> out = {
      direct("products, by the sampler on one GPU", "docs/sampling.md, then foretrain fit", 10,
             ClusterFactor::kMatrixProducts, 0.02),
      direct("light operators, by the sampler on one GPU", "docs/sampling.md, then foretrain fit", 10,
             ClusterFactor::kMemoryBound, 0.02),
      direct("launches, by the sampler on one GPU", "docs/sampling.md: host_us", 10, ClusterFactor::kHost,
             0.05),
      direct("nccl-tests of large messages inside a node", "foretrain import nccl-tests, then fit", 5 * node,
             ClusterFactor::kIntraBandwidth, 0.03),
      direct("nccl-tests of small messages inside a node", "foretrain import nccl-tests, then fit", 5 * node,
             ClusterFactor::kIntraLatency, 0.05),
      run("the first", c.a, 1, 0),
      run("the second", c.b, 0, 1)};
  if (c.a.gpus > gpus_per_node || c.b.gpus > gpus_per_node) {
    out.push_back(direct("nccl-tests of large messages between two nodes",
                         "foretrain import nccl-tests, then fit", 10 * node, ClusterFactor::kInterBandwidth,
                         0.03));
    out.push_back(direct("nccl-tests of small messages between two nodes",
                         "foretrain import nccl-tests, then fit", 10 * node, ClusterFactor::kInterLatency,
                         0.05));
  }
  return out;
}

// Of those that settle it the cheapest; of all others the likeliest, where of equal chances, to a hundredth, the cheaper is
// better: a second measurement that adds nothing is not worth its price.
static bool better(const Proposal& a, const Proposal& b) {
  const bool settles_a = a.chance >= kSettles, settles_b = b.chance >= kSettles;
  if (settles_a != settles_b) return settles_a;
  if (settles_a && a.gpu_minutes != b.gpu_minutes) return a.gpu_minutes < b.gpu_minutes;
  const double chance_a = std::round(100 * a.chance), chance_b = std::round(100 * b.chance);
  return chance_a != chance_b ? chance_a > chance_b : a.gpu_minutes < b.gpu_minutes;
}

NextMeasurement next_measurement(const Posterior& posterior, const Contest& contest,
                                 std::int64_t gpus_per_node) {
  const std::vector<Probe> possible = possible_probes(contest, gpus_per_node);
  const Unknowns unknowns(posterior, contest, possible);
  const double variance = unknowns.variance();
  NextMeasurement out;
  out.difference = contest.difference;
  out.deviation = std::sqrt(variance);
  out.told_apart = std::abs(out.difference) > kZ80 * out.deviation;
  const auto propose = [&](const std::vector<std::size_t>& some) {
    const Gain gain = gain_of(unknowns, some);
    Proposal p;
    for (const std::size_t i : some) {
      p.probes.push_back(possible[i]);
      p.gpu_minutes += possible[i].gpu_minutes;
    }
    p.deviation = std::sqrt(std::max(0.0, variance - gain.explained));
    p.chance = chance_of(out.difference, variance, gain.explained);
    out.proposals.push_back(std::move(p));
  };
  for (std::size_t i = 0; i < possible.size(); ++i) {
    propose({i});
    for (std::size_t j = i + 1; j < possible.size(); ++j) propose({i, j});
  }
  std::stable_sort(out.proposals.begin(), out.proposals.end(), better);
  return out;
}

double difference_after(const Posterior& posterior, const Contest& contest,
                        const std::vector<Probe>& measurements, const std::vector<double>& values) {
  std::vector<std::size_t> all(measurements.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Gain gain = gain_of(Unknowns(posterior, contest, measurements), all);
  double difference = contest.difference;
  for (std::size_t i = 0; i < values.size(); ++i) difference += gain.by[i] * values[i];
  return difference;
}

}  // namespace foretrain
