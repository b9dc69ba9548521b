// Fits a smooth regression (cost/smooth.h): weights = (K + noise I)^-1 (y - mean), by Cholesky's
// factorisation; n points take n^3 / 3 multiply-adds, so some thousands at most.
#pragma once

#include <span>

#include "cost/smooth.h"

namespace foretrain {

struct SmoothOptions {
  double reach = 1;     // how far a point reaches, in times of what the features' scales say
  double noise = 0.05;  // of a sample, against how far apart unrelated points lie (variances)
};

// Row-major `x` with scale.size() features a row; those of scale 0 are left out.
Smooth fit_smooth(std::span<const float> x, std::span<const float> scale, std::span<const double> y,
                  const SmoothOptions& options);

}  // namespace foretrain
