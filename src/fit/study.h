// How good fitted models are on what they have not seen, operator by operator and pass by pass.
//   shapes   ten folds of shapes, equal shapes kept together
//   hidden   samples of hidden sizes 3072, 4096, 5120 and 8192 held out (by the samples' group label)
//   largest  the fifth with the most work (FLOPs, or bytes where there are none) held out
// and the learning curve: errors on held-out shapes after fitting on 25, 50, ... samples.
#pragma once

#include <string>
#include <vector>

#include "fit/profile_fit.h"

namespace foretrain {

struct StudyRow {
  ModelKey key;
  std::size_t samples = 0;
  double shapes = 0;    // mean absolute relative errors
  double hidden = -1;   // negative: no such samples
  double largest = -1;  // likewise
};

// `samples` are clean.
Result<std::vector<StudyRow>> study(const std::vector<Sample>& samples, const Gpu& gpu,
                                    const FitOptions& options, const Progress& progress = {});

struct CurvePoint {
  ModelKey key;
  std::size_t samples = 0;
  double error = 0;
};
Result<std::vector<CurvePoint>> learning_curve(const std::vector<Sample>& samples, const Gpu& gpu,
                                               const FitOptions& options, const Progress& progress = {});

}  // namespace foretrain
