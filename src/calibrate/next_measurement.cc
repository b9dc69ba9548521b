#include "calibrate/next_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/estimate.h"

namespace foretrain {
namespace {

// The unknowns: factors, what the two runs' kinds have besides, and what each run has of its own.
constexpr std::size_t kKindA = kClusterFactorCount, kKindB = kKindA + 1, kOwnA = kKindA + 2,
                      kOwnB = kKindA + 3;
constexpr std::size_t kUnknowns = kKindA + 4;
using Combination = std::array<double, kUnknowns>;

Combination with_factors(const ClusterFactors& slope) {
  Combination out{};
  std::copy(slope.begin(), slope.end(), out.begin());
  return out;
}

Combination difference_of(const Contest& c) {
  Combination out = with_factors(c.b.slope);
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) out[k] -= c.a.slope[k];
  out[kKindA] = out[kOwnA] = -1;
  out[kKindB] = out[kOwnB] = 1;
  return out;
}

Combination measured_by(const Probe& m) {
  Combination out = with_factors(m.slope);
  out[kKindA] = out[kOwnA] = m.of_a;
  out[kKindB] = out[kOwnB] = m.of_b;
  return out;
}

class Unknowns {
 public:
  Unknowns(const Posterior& posterior, const Contest& c) : covariance_(kUnknowns, kUnknowns) {
    for (std::size_t i = 0; i < kClusterFactorCount; ++i)
      for (std::size_t j = 0; j < kClusterFactorCount; ++j) covariance_(i, j) = posterior.covariance()(i, j);
    const double kind = posterior.kind_variance();
    covariance_(kKindA, kKindA) = covariance_(kKindB, kKindB) = kind;
    covariance_(kKindA, kKindB) = covariance_(kKindB, kKindA) = kind * likeness(c.a.kind, c.b.kind);
    covariance_(kOwnA, kOwnA) = posterior.own_variance(c.a.spread);
    covariance_(kOwnB, kOwnB) = posterior.own_variance(c.b.spread);
  }
  double between(const Combination& a, const Combination& b) const {
    double sum = 0;
    for (std::size_t i = 0; i < kUnknowns; ++i)
      for (std::size_t j = 0; j < kUnknowns; ++j) sum += a[i] * covariance_(i, j) * b[j];
    return sum;
  }

 private:
  Matrix covariance_;
};

// How much of D each value moves: cov(D, z) var(z)^-1.
struct Gain {
  std::vector<double> by;
  double explained = 0;
};
Gain gain_of(const Unknowns& unknowns, const Combination& difference,
             const std::vector<Probe>& measurements) {
  const std::size_t n = measurements.size();
  Matrix all(n, n);
  std::vector<double> with(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Combination z = measured_by(measurements[i]);
    with[i] = unknowns.between(difference, z);
    for (std::size_t j = 0; j < n; ++j) all(i, j) = unknowns.between(z, measured_by(measurements[j]));
    all(i, i) += measurements[i].noise * measurements[i].noise;
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

NextMeasurement next_measurement(const Posterior& posterior, const Contest& contest,
                                 std::int64_t gpus_per_node) {
  const Unknowns unknowns(posterior, contest);
  const Combination difference = difference_of(contest);
  const double variance = unknowns.between(difference, difference);
  NextMeasurement out;
  out.difference = contest.difference;
  out.deviation = std::sqrt(variance);
  out.told_apart = std::abs(out.difference) > kZ80 * out.deviation;
  const std::vector<Probe> possible = possible_probes(contest, gpus_per_node);
  const auto propose = [&](std::vector<Probe> some) {
    const Gain gain = gain_of(unknowns, difference, some);
    Proposal p{std::move(some)};
    for (const Probe& m : p.probes) p.gpu_minutes += m.gpu_minutes;
    p.deviation = std::sqrt(std::max(0.0, variance - gain.explained));
    p.chance = chance_of(out.difference, variance, gain.explained);
    out.proposals.push_back(std::move(p));
  };
  for (std::size_t i = 0; i < possible.size(); ++i) {
    propose({possible[i]});
    for (std::size_t j = i + 1; j < possible.size(); ++j) propose({possible[i], possible[j]});
  }
  std::stable_sort(out.proposals.begin(), out.proposals.end(), [](const Proposal& a, const Proposal& b) {
    const bool settles_a = a.chance >= kSettles, settles_b = b.chance >= kSettles;
    if (settles_a != settles_b) return settles_a;
    if (settles_a && a.gpu_minutes != b.gpu_minutes) return a.gpu_minutes < b.gpu_minutes;
    // Of equal chances, to a hundredth, the cheaper: a second measurement that adds nothing is not worth its price.
    const double chance_a = std::round(100 * a.chance), chance_b = std::round(100 * b.chance);
    return chance_a != chance_b ? chance_a > chance_b : a.gpu_minutes < b.gpu_minutes;
  });
  return out;
}

double difference_after(const Posterior& posterior, const Contest& contest,
                        const std::vector<Probe>& measurements, const std::vector<double>& values) {
  const Gain gain = gain_of(Unknowns(posterior, contest), difference_of(contest), measurements);
  double difference = contest.difference;
  for (std::size_t i = 0; i < values.size(); ++i) difference += gain.by[i] * values[i];
  return difference;
}

}  // namespace foretrain
