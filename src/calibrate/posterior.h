// What lessons say of a cluster's factors and of kinds of runs: a linear model with a prior,
//
//   y_i = J_i theta + u(kind_i) + e_i
//   theta ~ N(0, a Sigma)           factors of the cluster, the same for all
//   u     ~ N(0, a w c s^2 k(.,.))  what runs of one kind have in common besides, by likeness k (run_kind.h)
//   e_i   ~ t_4(b w (1 - c) s_i^2)  each run's own, and a hundredth for the measurement
//
// Together they are the predictor's own spread: of its variance s_i^2 a share of 1 - w is the cluster's (a is scaled so that
// the lessons' J Sigma J^T has that size in the mean), w c the kind's and w (1 - c) the run's own; s is the root of the mean
// of s_i^2. The shape of Sigma (prior.h) says which factors are likely to be off, and together.
//
// How large a and b are is learned too: log a and log b are normal with deviation 1.4 (a factor 2 of the deviations), a and b
// 1 in the mean, which is the predictor's own spread; and their means under the marginal likelihood over a grid are taken
// (Rasmussen and Williams 2006, chapters 2 and 5). a is of what lessons share, b of what each has alone: lessons that agree on a large gap make a large, and move what they
// share; lessons that contradict each other make b large and so move little, which keeps three odd rows from spoiling a cluster.
// The t distribution is a normal one whose variance each lesson has of its own (Lange, Little and Taylor 1989, JASA 84:881):
// a lesson that the others do not bear out gets a small weight. Fewer than three runs cannot say which of them is the odd one:
// their weights stay 1.
//
// A run that was itself measured has its e_i again: where somebody asks about it, that is known too.
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

// Against the prior: log a / 2, of what lessons share, and log b / 2, of what each has alone.
struct PriorScale {
  double shared = 0, alone = 0;

  bool operator==(const PriorScale&) const = default;
};

// What somebody asks about, as lessons see it: so much of each factor; where a kind is named, also what its runs have
// besides; and where a spread is, also a run's own part.
struct Asked {
  ClusterFactors slope{};
  std::optional<RunKind> kind;
  std::string run;    // run_identity(); empty: none that was measured
  double spread = 0;  // that the predictor states of it
};

class Posterior {
 public:
  // Weights and scale as they are given. No lessons: the prior, as large as the spreads of `sized_by` say.
  Posterior(std::vector<Lesson> lessons, const PriorScale& scale, const PriorShares& shares = {},
            const std::vector<Lesson>& sized_by = {});

  // Weights and scale learned.
  static Posterior learned(std::vector<Lesson> lessons, const PriorShares& shares = {});

  const std::vector<Lesson>& lessons() const { return lessons_; }
  // Whether there are runs enough to weigh one against the others.
  bool weighs() const;
  const PriorScale& scale() const { return scale_; }
  const PriorShares& shares() const { return shares_; }
  const ClusterFactors& factors() const { return factors_; }  // their means
  const Matrix& covariance() const { return covariance_; }    // of the factors, as intervals of runs take it
  // As it is stated: by a prior as wide as its sources say (prior.h). In the fit that prior is scaled down to the share that
  // published runs leave to factors, so what it moves is cautious, and its own deviations would be too sure of that.
  Matrix stated_covariance() const;
  double deviation(ClusterFactor factor) const;
  static double prior_deviation(ClusterFactor factor);

  // By how much the logarithm of all times of a kind is off besides; and those of a run that was measured, on top.
  double shift(const RunKind& kind) const;
  double own_shift(const std::string& run) const;
  bool was_measured(const std::string& run) const;
  // A run's variance before the lessons, and what they leave of it.
  struct Variance {
    double before = 0, left = 0;
  };
  Variance variance(const Asked& asked) const;
  // What they leave of the covariance of each two.
  Matrix left(const std::vector<Asked>& asked) const;
  // Before any lesson: what is a run's own, and what those of a kind share.
  double own_variance(double spread) const;
  double kind_variance() const;
  // What a lesson's gap is expected to leave once it has been learned.
  double residual(std::size_t lesson) const;
  double log_likelihood() const { return log_likelihood_; }

 private:
  void solve();
  void reweigh();
  std::vector<double> covariances(const Asked& asked) const;
  double own_variance_of(std::size_t lesson) const;
  std::vector<double> own_parts(const std::string& run) const;
  double variance_before(const Asked& asked) const;
  double covariance_before(const Asked& a, const Asked& b) const;
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
