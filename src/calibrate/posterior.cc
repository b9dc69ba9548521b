#include "calibrate/posterior.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "calibrate/prior.h"

namespace foretrain {
namespace {

constexpr double kFreedom = 4;           // of the t distribution
constexpr double kMeasurement = 0.01;    // deviation of a measured step
constexpr double kScaleDeviation = 0.7;  // of half the logarithms of a and b
constexpr double kScaleMean =
    -kScaleDeviation * kScaleDeviation;  // of these: so that a and b are 1 in the mean
constexpr int kReweighings = 4;
constexpr std::size_t kFewestToWeigh = 3;                          // runs
constexpr std::array<double, 7> kGrid = {-3, -2, -1, 0, 1, 2, 3};  // in deviations

double product(const ClusterFactors& a, const ClusterFactors& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kClusterFactorCount; ++i)
    for (std::size_t j = 0; j < kClusterFactorCount; ++j) sum += a[i] * prior_covariance(i, j) * b[j];
  return sum;
}

}  // namespace

Posterior::Posterior(std::vector<Lesson> lessons, const PriorScale& scale, const PriorShares& shares,
                     const std::vector<Lesson>& sized_by)
    : lessons_(std::move(lessons)), scale_(scale), shares_(shares) {
  double spreads = 0, sizes = 0;
  const std::vector<Lesson>& sizing = lessons_.empty() ? sized_by : lessons_;
  for (const Lesson& lesson : sizing) {
    spreads += lesson.spread * lesson.spread;
    sizes += product(lesson.slope, lesson.slope);
  }
  if (!sizing.empty()) spread_ = std::sqrt(spreads / static_cast<double>(sizing.size()));
  if (sizes > 0) size_ = spreads / sizes;
  const std::size_t n = lessons_.size();
  shapes_ = Matrix(n, n), likes_ = Matrix(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      shapes_(i, j) = product(lessons_[i].slope, lessons_[j].slope);
      likes_(i, j) = likeness(lessons_[i].kind, lessons_[j].kind);
    }
  solve();
}

double Posterior::own_variance(double spread) const {
  return std::exp(2 * scale_.alone) * shares_.own * (1 - shares_.alike) * spread * spread;
}
double Posterior::kind_variance() const {
  return std::exp(2 * scale_.shared) * shares_.own * shares_.alike * spread_ * spread_;
}
double Posterior::factor_size() const { return std::exp(2 * scale_.shared) * (1 - shares_.own) * size_; }
double Posterior::factor_variance(const ClusterFactors& a, const ClusterFactors& b) const {
  return factor_size() * product(a, b);
}

double Posterior::own_variance_of(std::size_t lesson) const {
  return own_variance(lessons_[lesson].spread) / lessons_[lesson].weight;
}

// How much of a run's own part each lesson is: all of it where its step was measured, else what forward, backward and update
// take of their sum. Kernels of a trace are not all of a step, and say nothing of the rest.
std::vector<double> Posterior::own_parts(const std::string& run) const {
  std::vector<double> out(lessons_.size(), 0.0);
  if (run.empty()) return out;
  double sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Lesson& lesson = lessons_[i];
    if (lesson.run != run) continue;
    if (lesson.part == MeasuredPart::kStep) {
      std::fill(out.begin(), out.end(), 0.0);
      out[i] = 1;
      return out;
    }
    if (lesson.part == MeasuredPart::kMatrixProducts || lesson.part == MeasuredPart::kStreaming) continue;
    sum += out[i] = lesson.predicted;
  }
  for (double& part : out) part = sum > 0 ? part / sum : 0;
  return out;
}

bool Posterior::was_measured(const std::string& run) const {
  const std::vector<double> parts = own_parts(run);
  return std::any_of(parts.begin(), parts.end(), [](double part) { return part > 0; });
}

std::vector<double> Posterior::covariances(const Asked& asked) const {
  std::vector<double> out = own_parts(asked.run);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] *= own_variance_of(i);
    out[i] += factor_variance(asked.slope, lessons_[i].slope);
    if (asked.kind) out[i] += kind_variance() * likeness(*asked.kind, lessons_[i].kind);
  }
  return out;
}

double Posterior::variance_before(const Asked& asked) const {
  const std::vector<double> parts = own_parts(asked.run);
  double own = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) own += parts[i] * parts[i] * own_variance_of(i);
  return factor_variance(asked.slope, asked.slope) + (asked.kind ? kind_variance() : 0) +
         (own > 0 ? own : own_variance(asked.spread));
}

double Posterior::covariance_before(const Asked& a, const Asked& b) const {
  return factor_variance(a.slope, b.slope) +
         (a.kind && b.kind ? kind_variance() * likeness(*a.kind, *b.kind) : 0);
}

// Everything that follows from lessons, weights and scale.
void Posterior::solve() {
  const std::size_t n = lessons_.size();
  covariance_ = Matrix(kClusterFactorCount, kClusterFactorCount);
  std::array<ClusterFactors, kClusterFactorCount> units{};
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    units[k][k] = 1;
    for (std::size_t l = 0; l <= k; ++l)
      covariance_(k, l) = covariance_(l, k) = factor_variance(units[k], units[l]);
  }
  if (n == 0) return;
  Matrix all(n, n);
  std::vector<double> gaps(n);
  const double of_factors = factor_size(), of_kinds = kind_variance();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) all(i, j) = of_factors * shapes_(i, j) + of_kinds * likes_(i, j);
    all(i, i) += own_variance(lessons_[i].spread) / lessons_[i].weight + kMeasurement * kMeasurement;
    gaps[i] = lessons_[i].gap;
  }
  solved_ = Cholesky::of(all);
  CHECK_THAT(solved_.has_value());  // a sum of covariances, and a positive diagonal
  alpha_ = solved_->solve(gaps);
  log_likelihood_ = -0.5 * std::inner_product(gaps.begin(), gaps.end(), alpha_.begin(), 0.0) -
                    0.5 * solved_->log_determinant();
  std::array<std::vector<double>, kClusterFactorCount> with, weighed;
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    with[k].resize(n);
    for (std::size_t i = 0; i < n; ++i) with[k][i] = factor_variance(units[k], lessons_[i].slope);
    weighed[k] = solved_->solve(with[k]);
    factors_[k] = std::inner_product(with[k].begin(), with[k].end(), alpha_.begin(), 0.0);
  }
  for (std::size_t k = 0; k < kClusterFactorCount; ++k)
    for (std::size_t l = 0; l < kClusterFactorCount; ++l)
      covariance_(k, l) -= std::inner_product(with[k].begin(), with[k].end(), weighed[l].begin(), 0.0);
}

// By what each lesson's own part comes to, which is a share of what it leaves.
void Posterior::reweigh() {
  const std::vector<double> inverses = solved_->inverse_diagonal();
  for (std::size_t i = 0; i < lessons_.size(); ++i) {
    const double inverse = inverses[i];
    const double own = own_variance(lessons_[i].spread), noise = kMeasurement * kMeasurement;
    const double all = own / lessons_[i].weight + noise;
    const double part = all * alpha_[i];
    const double square = part * part + all - all * all * inverse;
    lessons_[i].weight = (kFreedom + 1) / (kFreedom + square / (own + noise));
  }
}

bool Posterior::weighs() const {
  std::set<std::string_view> runs;
  for (const Lesson& lesson : lessons_) runs.insert(lesson.run);
  return runs.size() >= kFewestToWeigh;
}

Posterior Posterior::learned(std::vector<Lesson> lessons, const PriorShares& shares) {
  for (Lesson& lesson : lessons) lesson.weight = 1;
  if (lessons.empty()) return Posterior({}, {}, shares);
  const Posterior unlearned(std::move(lessons), {}, shares);
  const int reweighings = unlearned.weighs() ? kReweighings : 0;
  const auto at = [&](const PriorScale& scale) {
    Posterior posterior = unlearned;
    posterior.scale_ = scale;
    posterior.solve();
    for (int i = 0; i < reweighings; ++i) {
      posterior.reweigh();
      posterior.solve();
    }
    return posterior;
  };
  struct Point {
    PriorScale scale;
    double log = 0;
  };
  std::vector<Point> points;
  double most = -HUGE_VAL;
  for (const double shared : kGrid)
    for (const double alone : kGrid) {
      const PriorScale scale{shared * kScaleDeviation + kScaleMean, alone * kScaleDeviation + kScaleMean};
      points.push_back({scale, at(scale).log_likelihood() - 0.5 * (shared * shared + alone * alone)});
      most = std::max(most, points.back().log);
    }
  double sum = 0, shared = 0, alone = 0;  // of a and b themselves: variances add up
  for (const Point& point : points) {
    const double weight = std::exp(point.log - most);
    sum += weight;
    shared += weight * std::exp(2 * point.scale.shared);
    alone += weight * std::exp(2 * point.scale.alone);
  }
  return at({std::log(shared / sum) / 2, std::log(alone / sum) / 2});
}

Matrix Posterior::stated_covariance() const {
  Matrix out = covariance_;
  for (std::size_t k = 0; k < kClusterFactorCount; ++k)
    for (std::size_t l = 0; l < kClusterFactorCount; ++l) out(k, l) /= factor_size();
  return out;
}

double Posterior::deviation(ClusterFactor factor) const {
  const auto k = static_cast<std::size_t>(factor);
  return std::sqrt(std::max(0.0, covariance_(k, k) / factor_size()));
}

double Posterior::prior_deviation(ClusterFactor factor) {
  const auto k = static_cast<std::size_t>(factor);
  return std::sqrt(prior_covariance(k, k));
}

double Posterior::shift(const RunKind& kind) const {
  double sum = 0;
  for (std::size_t i = 0; i < lessons_.size(); ++i)
    sum += kind_variance() * likeness(kind, lessons_[i].kind) * alpha_[i];
  return sum;
}

double Posterior::own_shift(const std::string& run) const {
  const std::vector<double> parts = own_parts(run);
  double sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) sum += parts[i] * own_variance_of(i) * alpha_[i];
  return sum;
}

Posterior::Variance Posterior::variance(const Asked& asked) const {
  return {variance_before(asked), left({asked})(0, 0)};
}

Matrix Posterior::left(const std::vector<Asked>& asked) const {
  const std::size_t n = asked.size();
  std::vector<std::vector<double>> with(n), weighed(n);
  for (std::size_t i = 0; i < n && !lessons_.empty(); ++i) {
    with[i] = covariances(asked[i]);
    weighed[i] = solved_->solve(with[i]);
  }
  Matrix out(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double before = i == j ? variance_before(asked[i]) : covariance_before(asked[i], asked[j]);
      out(i, j) = before - std::inner_product(with[i].begin(), with[i].end(), weighed[j].begin(), 0.0);
    }
  // A run that is measured again still comes out a little different.
  for (std::size_t i = 0; i < n; ++i)
    if (asked[i].spread > 0) out(i, i) = std::max(out(i, i), kMeasurement * kMeasurement);
  return out;
}

double Posterior::residual(std::size_t lesson) const {
  const Lesson& l = lessons_[lesson];
  double expected = shift(l.kind);
  for (std::size_t k = 0; k < factors_.size(); ++k) expected += l.slope[k] * factors_[k];
  return l.gap - expected;
}

}  // namespace foretrain
