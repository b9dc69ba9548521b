// What lessons say of a cluster's factors and of kinds of runs: a linear model with a prior,
//
//   y_i = J_i theta + u(kind_i) + e_i
//   theta ~ N(0, a Sigma)           factors of the cluster, the same for all
//   u     ~ N(0, b w c s^2 k(.,.))  what runs of one kind have in common besides, by likeness k (run_kind.h)
//   e_i   ~ t_4(b w (1 - c) s_i^2)  each run's own, and a hundredth for the measurement
//
// Together they are the predictor's own spread: of its variance s_i^2 a share of 1 - w is the cluster's (a is scaled so that
// the lessons' J Sigma J^T has that size in the mean), w c the kind's and w (1 - c) the run's own; s is the root of the mean
// of s_i^2. The shape of Sigma (prior.h) says which factors are likely to be off, and together.
//
// How large a and b are is learned too: log a and log b are normal about 0 with deviation 1.4 (a factor 2 of the deviations),
// and their means under the marginal likelihood over a grid are taken (Rasmussen and Williams 2006, chapters 2 and 5). Lessons
// that contradict each other make b large, and so move little: that is what keeps three odd rows from spoiling a cluster.
// The t distribution is a normal one whose variance each lesson has of its own (Lange, Little and Taylor 1989, JASA 84:881):
// a lesson that the others do not bear out gets a small weight.
#pragma once

#include <optional>
#include <vector>

#include "calibrate/lesson.h"
#include "calibrate/matrix.h"

namespace foretrain {

// Shares of the predictor's variance. They are not learned from a cluster; docs/calibrate.md tells how they were chosen.
struct PriorShares {
  double own = 0.9;    // w: not the cluster's factors'
  double alike = 0.5;  // c: of that, what runs of one kind share
};

// Against the prior: log a / 2 and log b / 2.
struct PriorScale {
  double factors = 0, runs = 0;

  bool operator==(const PriorScale&) const = default;
};

class Posterior {
 public:
  // Weights and scale as they are given. No lessons: the prior, as large as the spreads of `sized_by` say.
  Posterior(std::vector<Lesson> lessons, const PriorScale& scale, const PriorShares& shares = {},
            const std::vector<Lesson>& sized_by = {});

  // Weights and scale learned.
  static Posterior learned(std::vector<Lesson> lessons, const PriorShares& shares = {});

  const std::vector<Lesson>& lessons() const { return lessons_; }
  const PriorScale& scale() const { return scale_; }
  const PriorShares& shares() const { return shares_; }
  const ClusterFactors& factors() const { return factors_; }  // their means
  const Matrix& covariance() const { return covariance_; }    // of the factors, as intervals of runs take it
  // As it is stated: by a prior as wide as its sources say (prior.h). In the fit that prior is scaled down to the share that
  // published runs leave to factors, so what it moves is cautious, and its own deviations would be too sure of that.
  Matrix stated_covariance() const;
  double deviation(ClusterFactor factor) const;
  static double prior_deviation(ClusterFactor factor);

  // By how much the logarithm of all times of a kind is off besides.
  double shift(const RunKind& kind) const;
  // What the lessons leave of a run's variance, as a share of what it was before them.
  struct Variance {
    double before = 0, left = 0;
  };
  Variance variance(const ClusterFactors& slope, const RunKind& kind, double spread) const;
  // Before any lesson: what is a run's own, and what those of a kind share.
  double own_variance(double spread) const;
  double kind_variance() const;
  // What a lesson's gap is expected to leave once it has been learned.
  double residual(std::size_t lesson) const;
  double log_likelihood() const { return log_likelihood_; }

 private:
  void solve();
  void reweigh();
  std::vector<double> covariances(const ClusterFactors& slope, const RunKind& kind) const;
  double explained(const std::vector<double>& covariances) const;
  double factor_size() const;
  double factor_variance(const ClusterFactors& a, const ClusterFactors& b) const;

  std::vector<Lesson> lessons_;
  PriorScale scale_;
  PriorShares shares_;
  double spread_ = 0;      // s
  double size_ = 1;        // of Sigma
  Matrix shapes_, likes_;  // J Sigma J^T and k of each two lessons
  std::optional<Cholesky> solved_;
  std::vector<double> alpha_;  // K^-1 y
  ClusterFactors factors_{};
  Matrix covariance_;
  double log_likelihood_ = 0;
};

}  // namespace foretrain
