// Fits one operator's model from its samples.
//
// Clock: samples are carried to the GPU's highest clock, seconds / (1 + c (highest / clock - 1)), where c is
// the share of an operator's time that follows the clock. Under load clocks differ from sample to sample, so
// c is what explains the samples best. Where they record no clock, c is 0 and times stand as they were taken.
// Base: non-negative least squares on relative error (each row divided by its time) over the physical terms.
// Residual: log(time / base), smooth (cost/smooth.h) or by boosted trees, whichever does better on shapes
// held out. Errors come from cross-validation whose folds keep equal shapes together: samples of one shape
// never stand on both sides.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cost/operator_model.h"
#include "fit/smooth_fit.h"
#include "fit/xgboost.h"
#include "samples/sample.h"

namespace foretrain {

struct ResidualOptions {
  enum class Kind : unsigned char { kNone, kSmooth, kTrees } kind = Kind::kSmooth;
  SmoothOptions smooth = {};
  BoostOptions boost = {};
};

struct FittedOperator {
  ModelKey key;
  ModelFacts facts;
  std::array<double, kMaxTerms> coefficients{};
  Forest residual;
  Smooth smooth;
  Smooth host;
  Smooth power;  // fit/power_fit.h
  // Predicted over measured, a sample each, by the fold that had not seen it; 0: none.
  std::vector<double> held_out;

  OperatorModelView view() const {
    return {key, facts, coefficients, residual.view(), smooth.view(), host.view(), power.view()};
  }
};

struct FitOptions {
  // The one with the least error on shapes held out is taken, operator by operator: smooth ones of short and
  // long reach for few samples, deep trees where labels are many and clean, few and shallow ones where noise
  // is all that is left. The choice never sees the samples that judge.
  std::vector<ResidualOptions> candidates = {
      {ResidualOptions::Kind::kSmooth, {.reach = 1, .noise = 0.05}},
      {ResidualOptions::Kind::kSmooth, {.reach = 2, .noise = 0.05}},
      {ResidualOptions::Kind::kSmooth, {.reach = 0.5, .noise = 0.2}},
      {ResidualOptions::Kind::kSmooth, {.reach = 3, .noise = 0.2}},
      {ResidualOptions::Kind::kTrees,
       {},
       {.trees = 300, .depth = 6, .learning_rate = 0.05, .min_child_weight = 4, .subsample = 0.6}},
      {ResidualOptions::Kind::kTrees,
       {},
       {.trees = 150, .depth = 4, .learning_rate = 0.05, .min_child_weight = 8, .subsample = 0.6}},
      {ResidualOptions::Kind::kNone}};
  int folds = 5;
  std::uint64_t seed = 1;
  // What power does to the clock, known from elsewhere (fit/carried_clock.h): products are derived, not sampled.
  std::optional<PowerModel> carried;
  bool derived = false;  // all of it is (fit/against.h)
  // The share of an operator's time that follows the clock, where samples' own clocks do not tell; null: the usual.
  std::function<double(const Operator&)> clocked_share;
};

// Seconds of a sample at the GPU's highest clock.
double reference_seconds(const Sample& sample, const Gpu& gpu, double clocked_share);

// The share of time that follows the clock; 0 where no sample records one.
Result<double> fit_clocked_share(std::span<const Sample* const> samples, const Gpu& gpu,
                                 const FitOptions& options);

// Base and residual alone.
Result<FittedOperator> fit_model(std::span<const Sample* const> samples, const Gpu& gpu,
                                 const ResidualOptions& options, double clocked_share);

// Predicted over measured seconds, one a test sample.
std::vector<double> ratios(const FittedOperator& model, std::span<const Sample* const> test, const Gpu& gpu);

// The candidate that does best on a quarter of these samples' shapes after fitting on the rest; of few
// samples, on each quarter in turn.
Result<ResidualOptions> choose_residual(std::span<const Sample* const> samples, const Gpu& gpu,
                                        const FitOptions& options, double clocked_share);

std::size_t distinct_shape_count(std::span<const Sample* const> samples);

// fit_model on everything with the candidate chosen on it, and facts from grouped cross-validation.
Result<FittedOperator> fit_operator(std::span<const Sample* const> samples, const Gpu& gpu,
                                    const FitOptions& options);

// A number for a shape that does not depend on the order of samples: its fold is this modulo the folds. All
// passes and implementations of a shape share it.
std::uint64_t shape_hash(const Operator& op, std::uint64_t seed);

// Mean of |ratio - 1|.
double mean_error(std::span<const double> ratios);

}  // namespace foretrain
