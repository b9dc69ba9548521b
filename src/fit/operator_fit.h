// Fits one operator's model from its samples.
//
// Base: non-negative least squares on relative error (each row divided by its time) over the physical terms.
// Residual: boosted trees on log(time / base). Errors come from cross-validation whose folds keep equal
// shapes together: samples of one shape never stand on both sides.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/operator_model.h"
#include "fit/xgboost.h"
#include "samples/sample.h"

namespace foretrain {

struct FittedOperator {
  ModelKey key;
  ModelFacts facts;
  std::array<double, kMaxTerms> coefficients{};
  Forest residual;
  BoostOptions boost;  // as chosen
  std::vector<double>
      held_out;  // predicted over measured, a sample each, by the fold that had not seen it; 0: none

  OperatorModelView view() const { return {key, facts, coefficients, residual.view()}; }
};

struct FitOptions {
  // The one with the least error on a held-out quarter of the shapes is taken, operator by operator: deep
  // trees where labels are clean, few and shallow ones where noise is all that is left. The choice never sees
  // the samples that judge.
  std::vector<BoostOptions> candidates = {
      {.trees = 300, .depth = 6, .learning_rate = 0.05, .min_child_weight = 4, .subsample = 0.6},
      {.trees = 150, .depth = 4, .learning_rate = 0.05, .min_child_weight = 8, .subsample = 0.6}};
  int folds = 5;
  std::uint64_t seed = 1;
};

// Base and residual alone.
Result<FittedOperator> fit_model(std::span<const Sample* const> samples, const Gpu& gpu,
                                 const BoostOptions& boost);

// Predicted over measured seconds, one a test sample.
std::vector<double> ratios(const FittedOperator& model, std::span<const Sample* const> test, const Gpu& gpu);

// The candidate that does best on a quarter of these samples' shapes after fitting on the rest.
Result<BoostOptions> choose_boost(std::span<const Sample* const> samples, const Gpu& gpu,
                                  const FitOptions& options);

std::size_t distinct_shape_count(std::span<const Sample* const> samples);

// fit_model on everything with the candidate chosen on it, and facts from grouped cross-validation.
Result<FittedOperator> fit_operator(std::span<const Sample* const> samples, const Gpu& gpu,
                                    const FitOptions& options);

// A number for a shape that does not depend on the order of samples: its fold is this modulo the folds.
std::uint64_t shape_hash(const Operator& op, std::uint64_t seed);

// Mean of |ratio - 1|.
double mean_error(std::span<const double> ratios);

}  // namespace foretrain
